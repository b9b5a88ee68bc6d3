// Measures the engine alone, without transport, controller or batches. `local:` and servers build
// on it.
#ifndef PENSTOCK_BENCH_ENGINE_RATE_H_
#define PENSTOCK_BENCH_ENGINE_RATE_H_

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "client/plan/plan_options.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"

namespace penstock {

struct EngineRateOptions {
  v1::DecodeSpec spec = {};
  WireDtype dtype = WireDtype::kI8;
  PlanOptions plan = {};
  double seconds = 2;
  uint32_t threads = 0;  // 0 means as many as the process has cores.
  // If it is true, rows are decoded past the caches to the next place of a ring of 64 MiB, as
  // batches are written. Otherwise they are decoded into parts that are dropped while they are in
  // the cache.
  bool to_memory = false;
  // Number of windows that are read side by side. Each gives a slice in turn, like the lanes of a
  // plan.
  uint32_t side_by_side = 1;
  // Bytes of a slice. The last slice of a window may be smaller.
  uint64_t request_bytes = uint64_t{1} << 40;
};

struct EngineRate {
  double positions_per_second = 0;
  double bytes_per_second = 0;
  double cpu_seconds_per_million = 0;
};

// Reads the windows of the plan, several requests ahead. The first epoch reads the shards and is
// not counted.
absl::StatusOr<EngineRate> MeasureEngine(const Manifest& manifest,
                                         const EngineRateOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_ENGINE_RATE_H_
