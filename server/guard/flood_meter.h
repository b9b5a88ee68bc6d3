// Measures what one connection sends beyond what its calls account for. Arithmetic alone: no
// socket, no clock.
#ifndef PENSTOCK_SERVER_GUARD_FLOOD_METER_H_
#define PENSTOCK_SERVER_GUARD_FLOOD_METER_H_

#include <algorithm>
#include <cstdint>

#include "server/guard/connection_account.h"
#include "server/guard/guard_limits.h"

namespace penstock {

// Totals of a connection at one moment. They only grow. What is earned is read before what is
// received, so that no message counts as earned before it counts as received.
struct FlowReading {
  double seconds = 0;  // Of any steady clock.
  uint64_t earned_bytes = 0;
  uint64_t calls = 0;
  uint64_t earned_calls = 0;
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;  // That the peer has acknowledged.
};

// Two leaky buckets. They do not go below zero, so a quiet connection saves up nothing.
// Thread-compatible.
class FloodMeter {
 public:
  FloodMeter() = default;
  FloodMeter(const GuardLimits& limits, double now) : limits_(&limits) { last_.seconds = now; }

  void Read(const FlowReading& now) {
    const double seconds = now.seconds - last_.seconds;
    const double free_bytes = seconds * static_cast<double>(limits_->free_bytes_per_second) +
                              Grown(now.sent_bytes, last_.sent_bytes) /
                                  static_cast<double>(limits_->sent_bytes_per_free_byte);
    bytes_ = std::max(0.0, bytes_ + Grown(now.received_bytes, last_.received_bytes) -
                               Grown(now.earned_bytes, last_.earned_bytes) - free_bytes);
    calls_ = std::max(0.0, calls_ + Grown(now.calls, last_.calls) -
                               Grown(now.earned_calls, last_.earned_calls) -
                               seconds * limits_->calls_per_second);
    last_ = now;
  }

  // Bytes, and calls, that nothing accounts for.
  double bytes() const { return bytes_; }
  double calls() const { return calls_; }
  bool HasTooManyBytes(Standing standing) const { return bytes_ > LimitOf(standing); }
  bool HasTooManyCalls() const { return calls_ > limits_->calls; }
  // What it is to blame for where memory grows: 0 for one that behaves as clients do.
  double Blame(Standing standing) const {
    const double harmless = standing == Standing::kClient ? kHarmlessOfClient : kHarmless;
    return std::max(0.0, bytes_ + calls_ * kBytesOfCall - harmless);
  }
  uint64_t received_bytes() const { return last_.received_bytes; }

 private:
  static constexpr double kHarmless = 4 << 10;
  static constexpr double kHarmlessOfClient = 24 << 10;
  static constexpr double kBytesOfCall = 128;

  static double Grown(uint64_t now, uint64_t before) { return static_cast<double>(now - before); }
  double LimitOf(Standing standing) const {
    const bool invited = standing == Standing::kInvited;
    if (standing == Standing::kClient) return static_cast<double>(limits_->client_bytes);
    return static_cast<double>(invited ? limits_->invited_bytes : limits_->stranger_bytes);
  }

  const GuardLimits* limits_ = nullptr;
  FlowReading last_;
  double bytes_ = 0;
  double calls_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_GUARD_FLOOD_METER_H_
