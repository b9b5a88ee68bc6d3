#include "server/connection_limits.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"

namespace penstock {
namespace {

constexpr int kReadChunk = 2 << 10;
// With this argument, gRPC 1.51 reads 8 KiB even where less was asked for. gRPC calls it an
// experiment.
constexpr char kLargeReads[] = "tcp_read_chunks";

}  // namespace

void ReadLittleAtATime() {
  const char* const others = std::getenv("GRPC_EXPERIMENTS");
  const std::string experiments = absl::StrCat(others == nullptr ? "" : others, ",-", kLargeReads);
  setenv("GRPC_EXPERIMENTS", experiments.c_str(), /*overwrite=*/1);
}

void LimitConnections(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsPerConnection);
  // Time limit for TLS and HTTP/2's first frames. A connection without calls is closed after a
  // minute.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
  // A client that vanished without a word is noticed within 20 s. Clients may ping us in the same
  // way.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Clients send little, so a call's window need not grow with the link. gRPC need not read much at
  // once either: it allocates memory for what it reads before the guard can see it.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadChunk);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadChunk);
}

}  // namespace penstock
