// What a stream said, in order, for a test to wait on.
#ifndef PENSTOCK_TESTS_RECORDING_EVENTS_H_
#define PENSTOCK_TESTS_RECORDING_EVENTS_H_

#include <atomic>
#include <utility>
#include <variant>
#include <vector>

#include "client/transport/transport.h"
#include "gtest/gtest.h"
#include "records/base/bounded_queue.h"

namespace penstock {

struct SaidHello {
  ServerInfo info;
};
struct SaidWindowReady {
  uint64_t window = 0;
  uint64_t read_bytes = 0;
};
struct SaidCredit {
  uint64_t bytes = 0;
};
struct SaidDraining {
  uint32_t grace_ms = 0;
};
struct SaidBroken {
  absl::Status status;
};
using Said = std::variant<SaidHello, SaidWindowReady, ReceivedPart, StreamError, SaidCredit,
                          SaidDraining, SaidBroken>;

// Holds up to 100,000 events; fails the test when two come at once that may not. Parts may overtake
// one another.
class RecordingEvents final : public StreamEvents {
 public:
  void OnHello(const ServerInfo& info) override { Add(SaidHello{info}); }
  void OnWindowReady(uint64_t window, uint64_t read_bytes) override {
    Add(SaidWindowReady{window, read_bytes});
  }
  void OnPart(ReceivedPart part) override { events_.Push(std::move(part)); }
  void OnError(StreamError error) override { Add(std::move(error)); }
  void OnCredit(uint64_t bytes) override { Add(SaidCredit{bytes}); }
  void OnDraining(uint32_t grace_ms) override { Add(SaidDraining{grace_ms}); }
  void OnSharedMemory(absl::Status status) override { shared_memory_.Push(std::move(status)); }
  void OnBroken(absl::Status status) override { Add(SaidBroken{std::move(status)}); }

  // What became of the shared memory that a server offered.
  absl::Status SharedMemory() { return *shared_memory_.Pop(); }
  Said NextOfAnyKind() { return *events_.Pop(); }
  // The next event, which must be a T.
  template <typename T>
  T Next() {
    Said said = *events_.Pop();
    if (auto* broken = std::get_if<SaidBroken>(&said)) {
      if (!std::is_same_v<T, SaidBroken>) ADD_FAILURE() << broken->status;
    }
    EXPECT_TRUE(std::holds_alternative<T>(said)) << said.index();
    return std::holds_alternative<T>(said) ? std::get<T>(std::move(said)) : T{};
  }

 private:
  void Add(Said said) {
    EXPECT_FALSE(busy_.exchange(true));
    events_.Push(std::move(said));
    busy_ = false;
  }

  std::atomic<bool> busy_{false};
  BoundedQueue<Said> events_{100'000};
  BoundedQueue<absl::Status> shared_memory_{16};
};

// The whole of a part.
inline std::vector<uint8_t> Bytes(const ReceivedPart& part) {
  std::vector<uint8_t> bytes(part.payload->size());
  part.payload->CopyTo(0, bytes);
  return bytes;
}

}  // namespace penstock

#endif  // PENSTOCK_TESTS_RECORDING_EVENTS_H_
