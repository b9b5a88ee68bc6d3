#include "client/transport/grpc/grpc_transport.h"

#include <utility>

#include "base/status.h"
#include "client/transport/grpc/grpc_stream.h"
#include "client/transport/grpc/server_channel.h"

namespace penstock {
namespace {

// A stream whose TLS or token files could not be read.
class BrokenStream final : public Stream {
 public:
  BrokenStream(absl::Status status, StreamEvents& events) {
    events.OnEvent(StreamBroken{std::move(status)});
  }

  void OpenWindow(const struct OpenWindow&) override {}
  void Fetch(const struct Fetch&) override {}
  void Cancel(uint64_t) override {}
  void Release(uint64_t) override {}
};

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(std::string address, NetworkOptions options)
      : server_(std::move(address), std::move(options)) {}

  const std::string& address() const override { return server_.address(); }

  std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) override {
    absl::StatusOr<ServerChannel::Way> way = server_.Get();
    if (!way.ok()) {
      return std::make_unique<BrokenStream>(Annotate(way.status(), address()), events);
    }
    return std::make_unique<GrpcStream>(std::move(way->channel), address(),
                                        GrpcStream::Credentials{way->token, server_.options().tls},
                                        options, server_.options().shared_memory, events);
  }

 private:
  ServerChannel server_;
};

}  // namespace

std::unique_ptr<Transport> MakeGrpcTransport(std::string address, NetworkOptions options) {
  return std::make_unique<GrpcTransport>(std::move(address), std::move(options));
}

absl::Status CheckNetworkOptions(const std::string& address, const NetworkOptions& options) {
  return ServerChannel(address, options).Get().status();
}

}  // namespace penstock
