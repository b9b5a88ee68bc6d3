// Makes a data set of any size whose shards have real bytes only where an epoch begins.
#ifndef PENSTOCK_BENCH_BIG_DATASET_H_
#define PENSTOCK_BENCH_BIG_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/plan/plan_options.h"
#include "records/dataset/manifest.h"

namespace penstock {

struct BigDatasetOptions {
  uint32_t shards = 10000;
  uint32_t chunks_per_shard = 82;
  uint32_t records_per_chunk = 1220;  // Chess records in 256 KiB.
};

// Saves folder/manifest.pb and makes its shards. The shards are sparse files of full size. Only the
// chunks of each lane's first two windows in epoch 0 of `plan` are written. All chunks have the
// same bytes, so the manifest's checksums also hold for the other chunks, once they are written.
// `folder` must exist. Returns the number of bytes written to shards.
absl::StatusOr<uint64_t> MakeBigDataset(const std::string& folder, const BigDatasetOptions& options,
                                        const PlanOptions& plan);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_BIG_DATASET_H_
