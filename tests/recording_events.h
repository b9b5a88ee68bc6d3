// Records the events of a stream in order, for a test to wait for.
#ifndef PENSTOCK_TESTS_RECORDING_EVENTS_H_
#define PENSTOCK_TESTS_RECORDING_EVENTS_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "client/transport/transport.h"
#include "gtest/gtest.h"

namespace penstock {

// A StreamEvent or a part.
using Said = std::variant<ServerInfo, WindowReady, StreamError, Credit, Draining,
                          SharedMemoryResult, ConnectionGivenUp, StreamBroken, ReceivedPart>;

// Fails the test if two events coincide that must not. Also fails it if a wait is in vain: after
// the stream broke, or after two minutes. Parts may overtake one another. Thread-safe.
class RecordingEvents final : public StreamEvents {
 public:
  void OnEvent(StreamEvent event) override {
    if (auto* shared = std::get_if<SharedMemoryResult>(&event)) return Push(std::move(*shared));
    std::visit([this](auto& said) { Add(std::move(said)); }, event);
  }
  void OnPart(ReceivedPart part) override { Push(std::move(part)); }

  // Returns the result for the shared memory that a server offered, or the reason why there is
  // none.
  absl::Status SharedMemory() {
    MutexLock lock(&mutex_);
    return WaitFor(shared_memory_) ? TakeFrom(shared_memory_) : end_;
  }
  // Returns the next event; also StreamBroken if there is none.
  Said NextOfAnyKind() {
    MutexLock lock(&mutex_);
    return WaitFor(events_) ? TakeFrom(events_) : StreamBroken{end_};
  }
  // Returns the next event, which must be a T.
  template <typename T>
  T Next() {
    Said said = NextOfAnyKind();
    if (auto* broken = std::get_if<StreamBroken>(&said)) {
      if (!std::is_same_v<T, StreamBroken>) ADD_FAILURE() << broken->status;
    }
    EXPECT_TRUE(std::holds_alternative<T>(said)) << said.index();
    return std::holds_alternative<T>(said) ? std::get<T>(std::move(said)) : T{};
  }

 private:
  void Add(Said said) {
    EXPECT_FALSE(busy_.exchange(true));
    Push(std::move(said));
    busy_ = false;
  }
  void Push(SharedMemoryResult shared) {
    MutexLock lock(&mutex_);
    shared_memory_.push_back(std::move(shared.status));
    changed_.NotifyAll();
  }
  void Push(Said said) {
    MutexLock lock(&mutex_);
    if (const auto* broken = std::get_if<StreamBroken>(&said)) end_ = broken->status;
    events_.push_back(std::move(said));
    changed_.NotifyAll();
  }

  // Returns false if no more events will come; then the test has failed.
  template <typename T>
  bool WaitFor(const std::deque<T>& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (queue.empty() && end_.ok() && changed_.WaitUntil(&mutex_, deadline)) continue;
    if (!queue.empty()) return true;
    if (end_.ok()) end_ = absl::DeadlineExceededError("the stream has said nothing for 2 minutes");
    ADD_FAILURE() << "nothing more comes: " << end_;
    return false;
  }
  template <typename T>
  T TakeFrom(std::deque<T>& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    T first = std::move(queue.front());
    queue.pop_front();
    return first;
  }

  std::atomic<bool> busy_{false};
  Mutex mutex_;
  CondVar changed_;
  std::deque<Said> events_ ABSL_GUARDED_BY(mutex_);
  std::deque<absl::Status> shared_memory_ ABSL_GUARDED_BY(mutex_);
  // The reason why no event follows those in the queues.
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

// Returns all bytes of a part.
inline std::vector<uint8_t> Bytes(const ReceivedPart& part) {
  std::vector<uint8_t> bytes(part.payload->size());
  part.payload->CopyTo(0, bytes);
  return bytes;
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_RECORDING_EVENTS_H_
