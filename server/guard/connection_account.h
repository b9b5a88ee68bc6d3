// What the calls of one connection account for: the rest of what it sends is a flood's.
#ifndef PENSTOCK_SERVER_GUARD_CONNECTION_ACCOUNT_H_
#define PENSTOCK_SERVER_GUARD_CONNECTION_ACCOUNT_H_

#include <atomic>
#include <cstdint>

namespace penstock {

// How far a connection has come. It never goes back.
enum class Standing : uint8_t {
  kStranger,  // Has not had a call answered.
  kKnown,     // A health call was answered; those need no token.
  kInvited,   // A call was let in: its token is valid, or the server asks for none.
  kClient,    // Said a Hello that was accepted.
};

// Written by the connection's calls, read by ConnectionGuard. Thread-safe.
class ConnectionAccount {
 public:
  // A call has begun, whatever becomes of it.
  void OnCall() { calls_.fetch_add(1, std::memory_order_relaxed); }
  // A call has ended with an answer that the client did not cancel. The rate of such calls has no
  // limit once a call of the connection was let in.
  void OnAnswered() {
    earned_bytes_.fetch_add(kBytesOfCall, std::memory_order_relaxed);
    if (standing() >= Standing::kInvited) earned_calls_.fetch_add(1, std::memory_order_relaxed);
  }
  // A message of an open stream was understood.
  void OnMessage(uint64_t bytes) {
    // Frames of HTTP/2 and records of TLS come on top.
    earned_bytes_.fetch_add(bytes + bytes / 64 + kBytesOfFrame, std::memory_order_relaxed);
  }
  void Rise(Standing standing) {
    Standing before = standing_.load(std::memory_order_relaxed);
    while (before < standing && !standing_.compare_exchange_weak(before, standing)) continue;
  }

  uint64_t earned_bytes() const { return earned_bytes_.load(std::memory_order_relaxed); }
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  uint64_t earned_calls() const { return earned_calls_.load(std::memory_order_relaxed); }
  Standing standing() const { return standing_.load(std::memory_order_relaxed); }

 private:
  // Of headers with a token, and the frames around them.
  static constexpr uint64_t kBytesOfCall = 1024;
  static constexpr uint64_t kBytesOfFrame = 64;

  std::atomic<uint64_t> earned_bytes_{0};
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> earned_calls_{0};
  std::atomic<Standing> standing_{Standing::kStranger};
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_CONNECTION_ACCOUNT_H_
