#include "client/transport/grpc/manifest_call.h"
#include "base/bytes_of.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/byte_size.h"
#include "base/status.h"
#include "client/transport/grpc/broken_status.h"
#include "client/transport/grpc/server_channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/async_stream.h"
#include "proto/pieces.grpc.pb.h"

namespace penstock {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(100);

// One call. Its operations run one at a time and each is waited for, so every tag may be null.
class ManifestCall {
 public:
  ManifestCall(const ServerChannel::Way& way, const ManifestLimits& limits)
      : limits_(limits), stub_(v1::PieceService::NewStub(way.channel)) {
    if (!way.token.empty()) {
      context_.AddMetadata("authorization", absl::StrCat("Bearer ", way.token));
    }
  }
  ~ManifestCall() {
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) continue;
  }

  // Returns how the call ended, unless ended() says that this side ended it.
  grpc::Status Run(const std::string& path, std::string& bytes) {
    v1::ManifestRequest request;
    request.set_path(path);
    deadline_ = absl::Now() + limits_.silence;
    reader_ = stub_->PrepareAsyncManifest(&context_, request, &queue_);
    reader_->StartCall(nullptr);
    bool ok = Done();
    for (v1::ManifestPart part; ok; ok = ok && Take(part.data(), bytes)) {
      reader_->Read(&part, nullptr);
      ok = Done();
    }
    grpc::Status status;
    reader_->Finish(&status, nullptr);
    Done();
    if (!status.ok()) Check();  // The call may have failed before Done() called Check().
    if (!silent_) return status;
    return {grpc::StatusCode::DEADLINE_EXCEEDED,
            absl::StrCat("no data from the server for ", absl::FormatDuration(limits_.silence))};
  }

  const absl::Status& ended() const { return ended_; }

 private:
  // Waits for the pending operation. Returns false if it failed, so the call is over.
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(absl::Now() + kLookEvery)) ==
           grpc::CompletionQueue::TIMEOUT) {
      Check();
      silent_ = silent_ || absl::Now() > deadline_;
      if (silent_ || !ended_.ok()) context_.TryCancel();
    }
    return ok;
  }

  void Check() {
    if (limits_.check != nullptr && ended_.ok()) ended_ = limits_.check();
  }

  bool Take(const std::string& data, std::string& bytes) {
    bytes += data;  // A message has at most 4 MiB.
    ended_ = CheckSize(bytes);
    if (!ended_.ok()) {
      context_.TryCancel();
      return false;
    }
    deadline_ += limits_.silence * (static_cast<double>(data.size()) / (1 << 20));
    return true;
  }

  absl::Status CheckSize(const std::string& bytes) {
    if (!total_ && limits_.total != nullptr) {
      PENSTOCK_ASSIGN_OR_RETURN(total_, limits_.total(BytesOf(bytes)));
    }
    if (std::max<uint64_t>(bytes.size(), total_.value_or(0)) > limits_.max_bytes) {
      return absl::OutOfRangeError(absl::StrCat("the manifest has more than ",
                                                FormatByteSize(limits_.max_bytes), ", the limit"));
    }
    if (!total_ || bytes.size() <= *total_) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the server sent more than the ", *total_,
                                            " bytes that the manifest's header states"));
  }

  const ManifestLimits& limits_;
  const std::unique_ptr<v1::PieceService::Stub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::ManifestPart>> reader_;
  absl::Time deadline_;
  std::optional<uint64_t> total_;  // Total bytes, once limits_.total() knows.
  bool silent_ = false;
  absl::Status ended_;
};

}  // namespace

absl::StatusOr<std::string> CallForManifest(const std::string& address,
                                            const NetworkOptions& network, const std::string& path,
                                            const ManifestLimits& limits) {
  absl::StatusOr<ServerChannel::Way> way = ServerChannel(address, network).Get();
  if (!way.ok()) return Annotate(way.status(), address);
  if (limits.check != nullptr) PENSTOCK_RETURN_IF_ERROR(Annotate(limits.check(), address));
  std::string bytes;
  ManifestCall call(*way, limits);
  const grpc::Status status = call.Run(path, bytes);
  if (!call.ended().ok()) return Annotate(call.ended(), address);
  if (!status.ok()) return CallStatus(address, network.tls, status);
  return bytes;
}

}  // namespace penstock
