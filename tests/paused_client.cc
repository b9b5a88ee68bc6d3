// paused_client MANIFEST ADDRESS NAME: a client that requests more than a server may owe a stream,
// and reads nothing. Unlike a stopped process it answers pings, so the server does not give it up.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "client/loader/loader.h"
#include "client/loader/loader_plan.h"
#include "client/loader/window_message.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "records/decode/spec.h"
#include "records/wire/client_message.h"

namespace penstock {
namespace {

constexpr int kRequests = 1000;  // The rows of these requests have far more than 16 MiB.

// Never calls Read(), so that gRPC takes 64 KiB off the network and leaves the rest to the server.
class PausedStream {
 public:
  explicit PausedStream(const std::string& address)
      : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        call_(stub_.PrepareCall(&context_, "/penstock.v1.PieceService/Pieces", &queue_)) {
    call_->StartCall(this);
  }

  absl::Status Say(const wire::ClientMessage& message) {
    if (!Done()) return absl::UnavailableError("the stream has ended");
    const grpc::Slice slice(wire::Encode(message));
    call_->Write(grpc::ByteBuffer(&slice, 1), this);
    return absl::OkStatus();
  }
  // Waits for the operation that was started last. If there is none, answers pings until the
  // process ends.
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

// Opens the first window of every lane, then requests all rows of each window in turn.
absl::Status AskForAll(const LoaderOptions& options, const std::string& name,
                       PausedStream& stream) {
  PENSTOCK_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options));
  const EpochOrder order = plan.Epoch(0);
  const ShardPaths shards = ShardPaths::Make(*options.manifest, "");
  wire::ClientHello hello{.options = MakeStreamOptions(options)};
  hello.options.client = name;
  PENSTOCK_RETURN_IF_ERROR(stream.Say(hello));
  for (uint32_t lane = 0; lane < plan.lanes(); ++lane) {
    const WindowRequest window{
        .number = lane, .id = {.lane = lane}, .order = {std::shared_ptr<void>(), &order}};
    PENSTOCK_RETURN_IF_ERROR(
        stream.Say(MakeWindowMessage(*options.manifest, shards, plan.options(), window)));
  }
  for (uint32_t i = 0; i < kRequests; ++i) {
    const uint32_t lane = i % plan.lanes();
    PENSTOCK_RETURN_IF_ERROR(
        stream.Say(Fetch{.request = i,
                         .window = lane,
                         .rows = static_cast<uint32_t>(order.WindowRows({.lane = lane})),
                         .dtype = WireDtype::kF32,
                         .needed_at = i}));
  }
  return absl::OkStatus();
}

absl::Status Run(const std::string& manifest, const std::string& address, const std::string& name) {
  PENSTOCK_ASSIGN_OR_RETURN(Manifest loaded, Manifest::Load(manifest));
  LoaderOptions options;
  options.manifest = std::make_shared<const Manifest>(std::move(loaded));
  PENSTOCK_ASSIGN_OR_RETURN(options.spec, LoadSpec("chess"));
  PausedStream stream(address);
  PENSTOCK_RETURN_IF_ERROR(AskForAll(options, name, stream));
  if (!stream.Done()) return absl::UnavailableError("the stream has ended");
  std::puts("asked");
  std::fflush(stdout);
  stream.Done();
  return absl::OkStatus();
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const absl::Status status = penstock::Run(argv[1], argv[2], argv[3]);
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
