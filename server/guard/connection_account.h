// Counts the bytes for which the calls of one connection account. Any other bytes of the connection
// belong to a flood.
#ifndef PENSTOCK_SERVER_GUARD_CONNECTION_ACCOUNT_H_
#define PENSTOCK_SERVER_GUARD_CONNECTION_ACCOUNT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "server/guard/watched_socket.h"

namespace penstock {

// How far a connection has come. It never goes back.
enum class Standing : uint8_t {
  kStranger,  // None of its calls was answered.
  kKnown,     // A health call was answered. Health calls need no token.
  kInvited,   // A call was let in: its token is valid, or the server requires none.
  kClient,    // It sent a Hello that was accepted.
};

// The connection's calls write it, and ConnectionGuard reads it. Thread-safe.
class ConnectionAccount {
 public:
  // Resets `socket` as soon as more than `max_waiting_calls` calls wait for their request. The
  // guard would notice a little later, when gRPC has read thousands.
  ConnectionAccount(const WatchedSocket& socket, uint64_t max_waiting_calls)
      : socket_(socket), max_waiting_calls_(max_waiting_calls) {}

  // Call this when a call has begun: its headers are complete. It counts even if the call fails
  // later. OnRequest() follows.
  void OnCall() {
    const uint64_t calls = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (calls - requests() <= max_waiting_calls_) return;
    if (!reset_.exchange(true)) socket_.Abort();
  }
  // Call this when a call has its request, or has ended without one.
  void OnRequest() { requests_.fetch_add(1, std::memory_order_relaxed); }
  // Call this when a call has ended with an answer, and the client did not cancel it.
  void OnAnswered() {
    answered_calls_.fetch_add(1, std::memory_order_relaxed);
    if (standing() >= Standing::kInvited) earned_calls_.fetch_add(1, std::memory_order_relaxed);
  }
  // Call this when a message of an open stream has arrived completely.
  void OnMessage(uint64_t bytes) {
    // Adds the frames of HTTP/2 and the records of TLS.
    message_bytes_.fetch_add(bytes + bytes / 64 + kBytesOfFrame, std::memory_order_relaxed);
  }
  void Rise(Standing standing) {
    Standing before = standing_.load(std::memory_order_relaxed);
    while (before < standing && !standing_.compare_exchange_weak(before, standing)) continue;
  }

  // Whether the connection was reset because too many of its calls waited.
  bool reset() const { return reset_; }
  uint64_t message_bytes() const { return message_bytes_.load(std::memory_order_relaxed); }
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  uint64_t requests() const { return requests_.load(std::memory_order_relaxed); }
  uint64_t answered_calls() const { return answered_calls_.load(std::memory_order_relaxed); }
  // Number of answered calls since the connection was let in. Their rate is not limited.
  uint64_t earned_calls() const { return earned_calls_.load(std::memory_order_relaxed); }
  Standing standing() const { return standing_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kBytesOfFrame = 64;

  const WatchedSocket socket_;
  const uint64_t max_waiting_calls_;
  std::atomic<bool> reset_{false};
  std::atomic<uint64_t> message_bytes_{0};
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> requests_{0};
  std::atomic<uint64_t> answered_calls_{0};
  std::atomic<uint64_t> earned_calls_{0};
  std::atomic<Standing> standing_{Standing::kStranger};
};

// A call of a connection. It waits for its request until OnRequest() or the end of this object.
// Move-only. Thread-compatible.
class OpenCall {
 public:
  explicit OpenCall(std::shared_ptr<ConnectionAccount> account) : account_(std::move(account)) {
    account_->OnCall();
  }
  OpenCall(OpenCall&&) = default;
  OpenCall& operator=(OpenCall&&) = delete;
  ~OpenCall() {
    if (account_ != nullptr) OnRequest();
  }
  void OnRequest() {
    if (!std::exchange(has_request_, true)) account_->OnRequest();
  }
  ConnectionAccount& account() const { return *account_; }

 private:
  std::shared_ptr<ConnectionAccount> account_;  // Shared with the guard; null after a move.
  bool has_request_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_CONNECTION_ACCOUNT_H_
