#include "client/transport/grpc/grpc_transport.h"

#include <utility>

#include "client/transport/grpc/grpc_stream.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "records/wire/limits.h"

namespace penstock {
namespace {

grpc::ChannelArguments ChannelOptions() {
  grpc::ChannelArguments options;
  options.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  options.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  options.SetMaxReceiveMessageSize(wire::kMaxServerMessageBytes);
  options.SetMaxSendMessageSize(wire::kMaxClientMessageBytes);
  // The defaults, 1 s growing to 120 s, would leave a restarted server unnoticed for minutes.
  options.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  options.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 500);
  options.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A host that vanished without a word is noticed after 5 + 5 s.
  options.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5'000);
  options.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  options.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return options;
}

class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(std::string address)
      : address_(std::move(address)),
        channel_(grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(),
                                           ChannelOptions())) {}

  const std::string& address() const override { return address_; }

  std::unique_ptr<Stream> Connect(const StreamOptions& options, StreamEvents& events) override {
    return std::make_unique<GrpcStream>(channel_, address_, options, events);
  }

 private:
  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace

std::unique_ptr<Transport> MakeGrpcTransport(std::string address) {
  return std::make_unique<GrpcTransport>(std::move(address));
}

}  // namespace penstock
