// Limits how many windows may be loaded a second time, by another server.
#ifndef PENSTOCK_CLIENT_FETCH_EXTRA_LOADS_H_
#define PENSTOCK_CLIENT_FETCH_EXTRA_LOADS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace penstock {

// Limits extra actions to a share of the normal ones. The bucket is full at first: after n calls of
// Earn(), at most capacity + n * share calls of Take() have returned true. Not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double share, double capacity)
      : share_(share), capacity_(capacity), tokens_(capacity) {}

  // Adds `capacity` tokens to the bucket, and room for them.
  void Grow(double capacity) {
    capacity_ += capacity;
    tokens_ += capacity;
  }
  void Earn() { tokens_ = std::min(capacity_, tokens_ + share_); }
  // Takes a token. Returns false if fewer than `reserve` would be left.
  bool Take(double reserve = 0) {
    if (tokens_ - 1 < reserve) return false;
    tokens_ -= 1;
    return true;
  }
  double capacity() const { return capacity_; }

 private:
  const double share_;
  double capacity_;
  double tokens_;
};

// Allows extra loads for a share of the windows opened. It also allows some at once for each lane
// that this rank uses: enough to move all windows of one server in four. Not thread-safe.
class ExtraLoads {
 public:
  explicit ExtraLoads(uint32_t num_places) : in_use_(num_places) {}

  // Call this when a window of this place is opened for the first time.
  void Earn(uint32_t place) {
    tokens_.Earn();
    if (in_use_[place]) return;
    in_use_[place] = true;
    tokens_.Grow(kAtOnceOfLane);
  }
  // Takes an extra load. Returns false if fewer than `reserve` would be left.
  bool Take(double reserve) { return tokens_.Take(reserve); }
  double capacity() const { return tokens_.capacity(); }

 private:
  static constexpr double kShare = 0.05;
  static constexpr double kAtOnce = 8;  // kAtOnceOfLane is added for each lane in use.
  static constexpr double kAtOnceOfLane = 0.375;

  TokenBucket tokens_{kShare, kAtOnce};
  std::vector<bool> in_use_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_EXTRA_LOADS_H_
