// The ceiling of anything sent over gRPC: one stream of equal messages on loopback.
#ifndef PENSTOCK_BENCH_RAW_GRPC_STREAM_H_
#define PENSTOCK_BENCH_RAW_GRPC_STREAM_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace penstock {

struct RawGrpcStreamOptions {
  size_t message_bytes = size_t{1} << 20;
  uint64_t total_bytes = uint64_t{4} << 30;
  // The reader copies each message once, as a client does into its slot; false: it drops them.
  bool copy = true;
  uint32_t connections = 1;  // Each carries its share of the bytes.
};

// Bytes per second of a generic service that sends one slice again and again and a generic client
// that reads it, in this process, a write and a read at a time. No protobuf, no engine.
absl::StatusOr<double> MeasureRawGrpcStream(const RawGrpcStreamOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_RAW_GRPC_STREAM_H_
