#include "cli/feed/feed_writer.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock::feed {
namespace {

// Returns false if the consumer is gone.
bool SendAll(int socket, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

absl::string_view BytesOf(const BatchMessage& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

}  // namespace

absl::StatusOr<std::unique_ptr<FeedWriter>> FeedWriter::Start(int socket) {
  std::unique_ptr<FeedWriter> writer(new FeedWriter(socket));
  PENSTOCK_ASSIGN_OR_RETURN(writer->thread_, StartThread("that announces batches",
                                                         [self = writer.get()] { self->Run(); }));
  return writer;
}

FeedWriter::~FeedWriter() {
  MutexLock lock(&mutex_);
  ending_ = true;
  changed_.NotifyOne();
}

void FeedWriter::AddBatch(const BatchMessage& message) { Add(BytesOf(message), ""); }

void FeedWriter::AddText(ToConsumer kind, uint32_t generation, absl::string_view text) {
  const BatchMessage message = {
      .kind = kind, .generation = generation, .rows = static_cast<uint32_t>(text.size())};
  Add(BytesOf(message), text);
}

void FeedWriter::Add(absl::string_view header, absl::string_view text) {
  MutexLock lock(&mutex_);
  waiting_.append(header.data(), header.size()).append(text.data(), text.size());
  changed_.NotifyOne();
}

size_t FeedWriter::waiting_bytes() {
  MutexLock lock(&mutex_);
  return waiting_.size();
}

bool FeedWriter::TakeAll(std::string& messages) {
  messages.clear();
  MutexLock lock(&mutex_);
  while (waiting_.empty() && !ending_) changed_.Wait(&mutex_);
  messages.swap(waiting_);
  return !messages.empty();
}

void FeedWriter::Run() {
  for (std::string messages; TakeAll(messages);) {
    if (!SendAll(socket_, messages)) return;
  }
}

}  // namespace penstock::feed
