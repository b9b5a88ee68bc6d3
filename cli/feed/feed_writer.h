// Sends messages to the consumer, in order, on a thread of its own.
#ifndef PENSTOCK_CLI_FEED_FEED_WRITER_H_
#define PENSTOCK_CLI_FEED_FEED_WRITER_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "cli/feed/feed_protocol.h"

namespace penstock::feed {

// Messages wait in memory while the consumer reads nothing. There are at most one for each slot,
// one for the end of each generation, and one for each question. Thread-safe.
class FeedWriter {
 public:
  // `socket` must outlive it. kResourceExhausted: no thread.
  static absl::StatusOr<std::unique_ptr<FeedWriter>> Start(int socket);
  // Sends what is left, unless the consumer is gone or does not read: Shutdown() of the socket ends
  // that wait.
  ~FeedWriter();

  void AddBatch(const BatchMessage& message);
  void AddText(ToConsumer kind, uint32_t generation, absl::string_view text);

 private:
  explicit FeedWriter(int socket) : socket_(socket) {}
  void Run();
  void Add(absl::string_view header, absl::string_view text);
  // False: there is nothing left, and nothing will come.
  bool TakeAll(std::string& messages);

  const int socket_;
  Mutex mutex_;
  CondVar changed_;
  std::string waiting_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_WRITER_H_
