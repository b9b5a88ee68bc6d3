// Measures what one connection sends beyond what its calls account for. This is arithmetic only: it
// uses no socket and no clock.
#ifndef PENSTOCK_SERVER_GUARD_FLOOD_METER_H_
#define PENSTOCK_SERVER_GUARD_FLOOD_METER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "server/guard/connection_account.h"
#include "server/guard/guard_limits.h"

namespace penstock {

// Totals of a connection at one moment. They only grow. Read the totals that account for bytes
// before those of received bytes, so that no message counts as earned before it counts as received.
struct FlowReading {
  double seconds = 0;  // Time of any steady clock.
  uint64_t message_bytes = 0;
  uint64_t answered_calls = 0;
  uint64_t earned_calls = 0;
  uint64_t requests = 0;
  uint64_t calls = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;  // Bytes that the peer has acknowledged.
};

// Leaky buckets. They do not go below zero, so a quiet connection saves up nothing.
// Thread-compatible.
class FloodMeter {
 public:
  FloodMeter() = default;
  FloodMeter(const GuardLimits& limits, double now) : limits_(&limits), settled_(now) {
    last_.seconds = now;
  }

  void Read(const FlowReading& now) {
    const double seconds = now.seconds - last_.seconds;
    const double received = Grown(now.received_bytes, last_.received_bytes);
    const double earned = Earned(now, seconds);
    bytes_ = std::max(0.0, bytes_ + received - earned - FreeBytes(now, seconds));
    quiet_bytes_ = earned > 0 ? bytes_ : quiet_bytes_ + received;
    calls_ = std::max(0.0, calls_ + Grown(now.calls, last_.calls) -
                               Grown(now.earned_calls, last_.earned_calls) -
                               seconds * limits_->calls_per_second);
    if (bytes_ <= kUnsettledBytes) settled_ = now.seconds;
    last_ = now;
  }

  // Number of bytes for which nothing accounts.
  double bytes() const { return bytes_; }
  double calls() const { return calls_; }
  // Number of calls that have begun and wait for their request.
  double waiting_calls() const { return static_cast<double>(last_.calls - last_.requests); }
  bool HasTooManyBytes(Standing standing) const {
    return bytes_ > LimitOf(standing) || (standing == Standing::kKnown &&
                                          quiet_bytes_ > static_cast<double>(limits_->quiet_bytes));
  }
  bool HasTooManyCalls() const { return calls_ > limits_->calls; }
  // Whether the connection has begun something and not finished it in time.
  bool IsStalled() const { return last_.seconds - settled_ > limits_->stalled_seconds; }
  // How much the connection is to blame if memory grows; 0 for one that behaves like a client.
  double Blame(Standing standing) const {
    const double harmless = standing == Standing::kClient ? kHarmlessOfClient : kHarmless;
    return std::max(0.0, std::max(bytes_, quiet_bytes_) + calls_ * kBlameOfCall +
                             std::max(0.0, waiting_calls() - kHarmlessCalls) * kBlameOfWaitingCall -
                             harmless);
  }
  uint64_t received_bytes() const { return last_.received_bytes; }

 private:
  static constexpr double kHarmless = 4 << 10;
  static constexpr double kHarmlessOfClient = 24 << 10;
  static constexpr double kBlameOfCall = 128;
  static constexpr double kHarmlessCalls = 4;
  static constexpr double kBlameOfWaitingCall = 1 << 10;
  static constexpr double kUnsettledBytes = 16 << 10;
  // Bytes of a call's headers with a token, and of the frames around them. kBytesOfRepeatedCall is
  // for headers that HPACK already has.
  static constexpr double kBytesOfCall = 1024;
  static constexpr double kBytesOfRepeatedCall = 160;

  static double Grown(uint64_t now, uint64_t before) { return static_cast<double>(now - before); }

  // A few calls a second account for as many bytes as a call can use. Beyond these, each call that
  // was let in accounts for as many as a repeated call uses.
  double Earned(const FlowReading& now, double seconds) {
    full_calls_ = std::min(limits_->full_calls_per_second,
                           full_calls_ + seconds * limits_->full_calls_per_second);
    const double full =
        std::min(std::floor(full_calls_), Grown(now.answered_calls, last_.answered_calls));
    full_calls_ -= full;
    const double repeated = std::max(0.0, Grown(now.earned_calls, last_.earned_calls) - full);
    return Grown(now.message_bytes, last_.message_bytes) + full * kBytesOfCall +
           repeated * kBytesOfRepeatedCall;
  }

  double FreeBytes(const FlowReading& now, double seconds) const {
    return seconds * static_cast<double>(limits_->free_bytes_per_second) +
           Grown(now.sent_bytes, last_.sent_bytes) /
               static_cast<double>(limits_->sent_bytes_per_free_byte);
  }

  double LimitOf(Standing standing) const {
    const bool invited = standing == Standing::kInvited;
    if (standing == Standing::kClient) return static_cast<double>(limits_->client_bytes);
    return static_cast<double>(invited ? limits_->invited_bytes : limits_->stranger_bytes);
  }

  const GuardLimits* limits_ = nullptr;
  FlowReading last_;
  double bytes_ = 0;
  // Bytes since the last answered call or complete message. FreeBytes() are not subtracted.
  double quiet_bytes_ = 0;
  double calls_ = 0;
  double full_calls_ = 1;  // Number of calls that may account for kBytesOfCall now.
  double settled_ = 0;     // Time at which bytes_ was last small.
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_FLOOD_METER_H_
