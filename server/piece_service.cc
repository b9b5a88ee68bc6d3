#include "server/piece_service.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "server/grpc_status.h"
#include "server/log_format.h"
#include "server/server_stats.h"
#include "spdlog/spdlog.h"

namespace penstock {
namespace {

// Sends a file in pieces, one read ahead of each write.
class FileReactor final : public grpc::ServerWriteReactor<v1::ManifestPart> {
 public:
  explicit FileReactor(std::unique_ptr<FileSource> file) : file_(std::move(file)) { WriteNext(); }

 private:
  static constexpr uint64_t kPartBytes = uint64_t{1} << 20;

  void OnWriteDone(bool ok) override {
    if (ok) {
      WriteNext();
    } else {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone"));
    }
  }
  void OnDone() override { delete this; }

  void WriteNext() {
    if (offset_ == file_->size()) {
      Finish(grpc::Status::OK);
      return;
    }
    std::string& data = *part_.mutable_data();
    data.resize(std::min(kPartBytes, file_->size() - offset_));
    absl::Status read =
        file_->ReadAt(offset_, {reinterpret_cast<uint8_t*>(data.data()), data.size()});
    if (!read.ok()) {
      Finish(ToGrpcStatus(read));
      return;
    }
    offset_ += data.size();
    StartWrite(&part_);
  }

  const std::unique_ptr<FileSource> file_;
  uint64_t offset_ = 0;
  v1::ManifestPart part_;
};

template <typename Base>
class RefusingReactor final : public Base {
 public:
  explicit RefusingReactor(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }

 private:
  void OnDone() override { delete this; }
};

}  // namespace

PieceService::PieceService(SessionSource& source, const Root& root,
                           std::function<void()> on_stream_end)
    : source_(source), root_(root), on_stream_end_(std::move(on_stream_end)) {}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* PieceService::Pieces(
    grpc::CallbackServerContext* context) {
  MutexLock lock(&mutex_);
  totals_.set_streams(totals_.streams() + 1);
  if (draining_) {
    totals_.set_refused(totals_.refused() + 1);
    return new RefusingReactor<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>(
        absl::UnavailableError("this server is draining; use another"));
  }
  auto* stream = new StreamReactor(source_, *this, context->peer());
  streams_.insert(stream);
  stream->Start();
  return stream;
}

grpc::ServerWriteReactor<v1::ManifestPart>* PieceService::Manifest(
    grpc::CallbackServerContext* context, const v1::ManifestRequest* request) {
  absl::StatusOr<std::unique_ptr<FileSource>> file = root_.OpenFile(request->path());
  if (file.ok()) return new FileReactor(*std::move(file));
  spdlog::warn("manifest refused peer={} path={} error={}", context->peer(),
               Quoted(request->path()), Quoted(file.status().ToString()));
  return new RefusingReactor<grpc::ServerWriteReactor<v1::ManifestPart>>(file.status());
}

grpc::ServerUnaryReactor* PieceService::Stats(grpc::CallbackServerContext* context,
                                              const v1::StatsRequest*, v1::ServerStats* response) {
  *response = stats();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

v1::ServerStats PieceService::stats() const {
  v1::ServerStats stats = DescribeServer(source_.stats(), started_);
  MutexLock lock(&mutex_);
  stats.set_draining(draining_);
  *stats.mutable_totals() = totals_;
  for (const StreamReactor* stream : streams_) {
    v1::StreamStats& added = *stats.add_stream();
    added = stream->stats();
    AddTo(*stats.mutable_totals(), added);
  }
  return stats;
}

void PieceService::Drain(absl::Duration grace) {
  MutexLock lock(&mutex_);
  if (std::exchange(draining_, true)) return;
  auto grace_ms =
      static_cast<uint32_t>(std::clamp<int64_t>(absl::ToInt64Milliseconds(grace), 0, UINT32_MAX));
  for (StreamReactor* stream : streams_) stream->Drain(grace_ms);
}

size_t PieceService::num_streams() const {
  MutexLock lock(&mutex_);
  return streams_.size();
}

void PieceService::OnStreamDone(StreamReactor* stream) {
  {
    MutexLock lock(&mutex_);
    streams_.erase(stream);
    AddTo(totals_, stream->stats());
    if (stream->refused()) totals_.set_refused(totals_.refused() + 1);
  }
  on_stream_end_();
}

}  // namespace penstock
