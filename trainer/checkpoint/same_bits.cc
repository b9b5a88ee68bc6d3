#include "trainer/checkpoint/same_bits.h"

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/shortened.h"

namespace penstock {
namespace {

class Differences {
 public:
  void Compare(absl::string_view what, uint64_t then, uint64_t now) {
    Compare(what, absl::StrCat(then), absl::StrCat(now));
  }
  void Compare(absl::string_view what, const std::string& then, const std::string& now) {
    if (then.empty() || then == now) return;
    found_.push_back(
        absl::StrCat(what, " was ", Shortened(then, now), " and is now ", Shortened(now, then)));
  }
  std::vector<std::string> Take() && { return std::move(found_); }

 private:
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> BitDifferences(const CheckpointInfo& then, const CheckpointInfo& now) {
  Differences differences;
  differences.Compare("--global-batch-size", then.global_batch_size, now.global_batch_size);
  differences.Compare("--dropout", absl::StrCat(then.model.dropout),
                      absl::StrCat(now.model.dropout));
  differences.Compare("--head-dropout", absl::StrCat(then.model.head_dropout),
                      absl::StrCat(now.model.head_dropout));
  differences.Compare("--virtual-shards", then.virtual_shards, now.virtual_shards);
  differences.Compare("the target formula of --spec", then.targets, now.targets);
  differences.Compare("the block size", then.block_rows, now.block_rows);
  differences.Compare("the arithmetic", then.numerics, now.numerics);
  differences.Compare("--precision", then.precision, now.precision);
  differences.Compare("--reduction", then.reduction, now.reduction);
  differences.Compare("--compression", then.compression, now.compression);
  differences.Compare("--accumulate", then.accumulate, now.accumulate);
  differences.Compare("--remainder", then.remainder, now.remainder);
  differences.Compare("the GEMM plan", then.gemm_plan, now.gemm_plan);
  differences.Compare("the library", then.libraries, now.libraries);
  if (now.reduction != "deterministic") {
    differences.Compare("the world size", then.world_size, now.world_size);
  }
  differences.Compare("the program", then.version, now.version);
  return std::move(differences).Take();
}

}  // namespace penstock
