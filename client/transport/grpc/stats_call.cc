#include "client/transport/grpc/stats_call.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "client/transport/grpc/broken_status.h"
#include "client/transport/grpc/server_channel.h"
#include "grpcpp/client_context.h"
#include "proto/pieces.grpc.pb.h"

namespace penstock {
namespace {

class GrpcStatsCaller final : public StatsCaller {
 public:
  GrpcStatsCaller(std::string address, const NetworkOptions& network)
      : channel_(std::move(address), network), tls_(network.tls) {}

  const std::string& address() const override { return channel_.address(); }

  absl::StatusOr<v1::ServerStats> Ask(absl::Duration timeout) override {
    absl::StatusOr<ServerChannel::Way> way = channel_.Get();
    if (!way.ok()) return Annotate(way.status(), address());
    grpc::ClientContext context;
    if (!way->token.empty()) {
      context.AddMetadata("authorization", absl::StrCat("Bearer ", way->token));
    }
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    v1::ServerStats stats;
    grpc::Status status =
        v1::PieceService::NewStub(way->channel)->Stats(&context, v1::StatsRequest(), &stats);
    if (status.ok()) return stats;
    return CallStatus(address(), tls_, status);
  }

 private:
  ServerChannel channel_;
  const std::optional<TlsOptions> tls_;
};

}  // namespace

std::unique_ptr<StatsCaller> MakeStatsCaller(std::string address, NetworkOptions network) {
  return std::make_unique<GrpcStatsCaller>(std::move(address), network);
}

}  // namespace penstock
