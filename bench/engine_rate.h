// The engine alone, without transport, scheduler or batches: what `local:` and a server start from.
#ifndef PENSTOCK_BENCH_ENGINE_RATE_H_
#define PENSTOCK_BENCH_ENGINE_RATE_H_

#include "absl/status/statusor.h"
#include "client/plan/plan_options.h"
#include "proto/decode_spec.pb.h"
#include "records/base/dtype.h"
#include "records/dataset/manifest.h"

namespace penstock {

struct EngineRateOptions {
  v1::DecodeSpec spec = {};
  WireDtype dtype = WireDtype::kI8;
  PlanOptions plan = {};
  double seconds = 2;
  uint32_t threads = 0;  // 0: the cores of this process.
  // Copies every part once, on the thread that decoded it, to the next place of a ring of 64 MiB,
  // as batches are written; false: parts are dropped while they are in the cache.
  bool to_memory = false;
};

struct EngineRate {
  double positions_per_second = 0;
  double bytes_per_second = 0;
  double cpu_seconds_per_million = 0;
};

// Whole windows of the plan, one after the other, a few asked for ahead. The first epoch, which
// reads the shards, is not counted.
absl::StatusOr<EngineRate> MeasureEngine(const Manifest& manifest,
                                         const EngineRateOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_ENGINE_RATE_H_
