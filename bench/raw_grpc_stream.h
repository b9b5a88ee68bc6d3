// Measures the ceiling for everything sent over gRPC: a stream of equal messages on loopback.
#ifndef PENSTOCK_BENCH_RAW_GRPC_STREAM_H_
#define PENSTOCK_BENCH_RAW_GRPC_STREAM_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace penstock {

struct RawGrpcStreamOptions {
  size_t message_bytes = size_t{1} << 20;
  uint64_t total_bytes = uint64_t{4} << 30;
  // If it is true, the reader copies each message once, as a client copies into its slot. Otherwise
  // it drops messages.
  bool copy = true;
  uint32_t connections = 1;  // Number of connections. Each carries its share of the bytes.
};

// Returns the bytes per second between a generic service and a generic client in this process. The
// service sends one slice again and again, one write at a time. The client has one read at a time.
// No protobuf is involved, and no engine.
absl::StatusOr<double> MeasureRawGrpcStream(const RawGrpcStreamOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_BENCH_RAW_GRPC_STREAM_H_
