// Leaves out work for which a block has too little shared memory, and records what was left out.
#ifndef PENSTOCK_KERNELS_CHECK_BENCH_BLOCK_LIMIT_H_
#define PENSTOCK_KERNELS_CHECK_BENCH_BLOCK_LIMIT_H_

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::check_bench {

// Bytes of shared memory: what a launch needs, and the most that a block has.
struct LeftOut {
  std::string name;
  size_t needed = 0, most = 0;
};

// Thread-compatible.
class BlockLimit {
 public:
  explicit BlockLimit(size_t most_shared) : most_(most_shared) {}

  // Returns whether a block has `shared` bytes of shared memory; if not, records `name` as left
  // out.
  bool Fits(const std::string& name, size_t shared) {
    if (shared <= most_) return true;
    left_out_.push_back({name, shared, most_});
    return false;
  }
  const std::vector<LeftOut>& left_out() const { return left_out_; }

 private:
  size_t most_;
  std::vector<LeftOut> left_out_;
};

}  // namespace penstock::check_bench

#endif  // PENSTOCK_KERNELS_CHECK_BENCH_BLOCK_LIMIT_H_
