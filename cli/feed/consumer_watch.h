// Ends the feed when its consumer's process ends.
#ifndef PENSTOCK_CLI_FEED_CONSUMER_WATCH_H_
#define PENSTOCK_CLI_FEED_CONSUMER_WATCH_H_

#include <cstdint>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "base/io/unique_fd.h"

namespace penstock::feed {

// Watches a process from a thread of its own. When that process ends, this one exits at once,
// whatever its other threads do: nobody is left to read what they write.
class ConsumerWatch {
 public:
  // Starts to watch `pid`. If it is 0, or if the system has no pidfds (Linux before 5.3), nothing
  // is watched. Then only the socket shows that the consumer is gone.
  //
  // kNotFound: there is no such process. kResourceExhausted: no descriptors or threads are left.
  static absl::StatusOr<std::unique_ptr<ConsumerWatch>> Start(int64_t pid);
  // Stops watching.
  ~ConsumerWatch();

 private:
  ConsumerWatch(UniqueFd consumer, UniqueFd stop);

  UniqueFd consumer_;  // Readable when the consumer has ended.
  UniqueFd stop_;      // An eventfd, readable when the watch must end.
  std::jthread thread_;
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_CONSUMER_WATCH_H_
