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

// Keeps messages in memory while the consumer does not read. There are at most one for each slot,
// one for the end of each generation, and one for each question. Thread-safe.
class FeedWriter {
 public:
  // `socket` must outlive this. kResourceExhausted: no thread can be started.
  static absl::StatusOr<std::unique_ptr<FeedWriter>> Start(int socket);
  // Sends the remaining messages, unless the consumer is gone. If it does not read, shutdown() of
  // the socket ends the wait.
  ~FeedWriter();

  void AddBatch(const BatchMessage& message);
  void AddText(ToConsumer kind, uint32_t generation, absl::string_view text);

  // Number of bytes that are not being sent yet.
  size_t waiting_bytes();

 private:
  explicit FeedWriter(int socket) : socket_(socket) {}
  void Run();
  void Add(absl::string_view header, absl::string_view text);
  // Returns false if no message is left and none will come.
  bool TakeAll(std::string& messages);

  const int socket_;
  Mutex mutex_;
  CondVar changed_;
  std::string waiting_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // Last, because it uses all members above.
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLI_FEED_FEED_WRITER_H_
