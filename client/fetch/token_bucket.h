// A bound on what is done beside the normal, as a share of the normal.
#ifndef PENSTOCK_CLIENT_FETCH_TOKEN_BUCKET_H_
#define PENSTOCK_CLIENT_FETCH_TOKEN_BUCKET_H_

#include <algorithm>

namespace penstock {

// Full at first. After n calls of Earn() at most capacity + n * share calls of Take() have given
// true. Not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double share, double capacity)
      : share_(share), capacity_(capacity), tokens_(capacity) {}

  // More at once from now on.
  void Grow(double capacity) {
    capacity_ += capacity;
    tokens_ += capacity;
  }
  void Earn() { tokens_ = std::min(capacity_, tokens_ + share_); }
  // False: fewer than `reserve` would be left.
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

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_TOKEN_BUCKET_H_
