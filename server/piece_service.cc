#include "server/piece_service.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "base/text.h"
#include "records/dataset/manifest.h"
#include "server/call_reactor.h"
#include "server/log.h"
#include "server/request_reactor.h"
#include "server/server_stats.h"

namespace penstock {
namespace {

// Storage that keeps one read for so many seconds hangs, or is of no use.
constexpr double kLongRead = 2;

}  // namespace

// Sends a manifest in pieces: reads one, writes it, and reads the next when that write is done.
// Owns itself until OnDone().
class FileReactor final : public RequestReactor, public std::enable_shared_from_this<FileReactor> {
 public:
  static std::shared_ptr<FileReactor> Create(PieceService& service, OpenCall call, Gate::Pass pass,
                                             grpc::CallbackServerContext& context) {
    std::shared_ptr<FileReactor> reactor(
        new FileReactor(service, std::move(call), std::move(pass), context));
    reactor->self_ = reactor;
    return reactor;
  }

  // Cancels a call whose last part has been in flight for this long.
  void EndIfSilent(absl::Duration timeout) {
    if (Clock::now() - Clock::time_point(Clock::duration(wrote_.load())) <
        absl::ToChronoNanoseconds(timeout)) {
      return;
    }
    MutexLock lock(&mutex_);
    if (context_ != nullptr) context_->TryCancel();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint64_t kPartBytes = uint64_t{1} << 20;

  FileReactor(PieceService& service, OpenCall call, Gate::Pass pass,
              grpc::CallbackServerContext& context)
      : RequestReactor(std::move(call), context, service.limits_.hello_timeout),
        service_(service),
        pass_(std::move(pass)),
        peer_(context.peer()),
        context_(&context) {}

  void OnRequest(grpc::ByteBuffer& bytes) override {
    v1::ManifestRequest request;
    if (!Parse(bytes, request)) return;
    absl::StatusOr<std::unique_ptr<FileSource>> file =
        service_.OpenManifest(pass_, request.path(), peer_);
    if (!file.ok()) return Finish(ToGrpcStatus(file.status()));
    file_ = *std::move(file);
    WriteNext();
  }
  void OnWriteDone(bool ok) override {
    wrote_ = Clock::now().time_since_epoch().count();
    if (ok) {
      WriteNext();
    } else {
      Finish(
          grpc::Status(grpc::StatusCode::CANCELLED, "the client disconnected, or stopped reading"));
    }
  }
  void OnDone() override {
    const std::shared_ptr<FileReactor> self = std::move(self_);
    {
      MutexLock lock(&mutex_);
      context_ = nullptr;
    }
    CountAnswer();
    pass_ = {};
    service_.OnFileDone(this);
  }

  void WriteNext() {
    if (offset_ == file_->size()) {
      Finish(grpc::Status::OK);
      return;
    }
    v1::ManifestPart part;
    std::string& data = *part.mutable_data();
    data.resize(std::min(kPartBytes, file_->size() - offset_));
    absl::Status read =
        file_->ReadAt(offset_, {reinterpret_cast<uint8_t*>(data.data()), data.size()});
    if (!read.ok()) {
      Finish(ToGrpcStatus(read));
      return;
    }
    offset_ += data.size();
    part_ = ToByteBuffer(part);
    StartWrite(&part_);
  }

  PieceService& service_;
  Gate::Pass pass_;
  const std::string peer_;
  std::unique_ptr<FileSource> file_;
  uint64_t offset_ = 0;
  grpc::ByteBuffer part_;
  std::atomic<Clock::rep> wrote_{Clock::now().time_since_epoch().count()};
  std::shared_ptr<FileReactor> self_;
  Mutex mutex_;
  // Null once the context may be gone.
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);
};

class StatsReactor final : public RequestReactor {
 public:
  StatsReactor(PieceService& service, OpenCall call, Gate::Pass pass,
               grpc::CallbackServerContext& context)
      : RequestReactor(std::move(call), context, service.limits_.hello_timeout),
        service_(service),
        pass_(std::move(pass)) {}

 private:
  void OnRequest(grpc::ByteBuffer& bytes) override {
    v1::StatsRequest request;
    if (!Parse(bytes, request)) return;
    const v1::ServerStats stats = service_.StatsFor(pass_.grant().get());
    pass_ = {};  // The client may call again as soon as it has the answer.
    AnswerWith(stats);
  }

  const PieceService& service_;
  Gate::Pass pass_;
};

PieceService::PieceService(SessionSource& source, const Root& root, Gate& gate,
                           const ServiceLimits& limits, SharedMemoryDoor* door,
                           std::function<void()> on_stream_end)
    : source_(source),
      root_(root),
      gate_(gate),
      limits_(limits),
      door_(door),
      on_stream_end_(std::move(on_stream_end)) {}

absl::Status PieceService::Start() {
  PENSTOCK_ASSIGN_OR_RETURN(deadlines_,
                            StartThread("that ends silent streams", [this] { RunDeadlines(); }));
  return absl::OkStatus();
}

PieceService::~PieceService() {
  MutexLock lock(&mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

void PieceService::AddCallsTo(CallRouter& router) {
  const auto add = [this, &router](const std::string& method, auto call) {
    router.Add("/penstock.v1.PieceService/" + method, std::bind_front(call, this));
  };
  add("Pieces", &PieceService::Pieces);
  add("Manifest", &PieceService::Manifest);
  add("Stats", &PieceService::Stats);
}

CallReactor* PieceService::Pieces(grpc::CallbackServerContext& context, OpenCall call) {
  absl::StatusOr<Gate::Pass> pass = gate_.Admit(context, CallKind::kStream, call.account());
  MutexLock lock(&mutex_);
  totals_.set_streams(totals_.streams() + 1);
  if (draining_) pass = absl::UnavailableError("this server is draining; use another");
  if (!pass.ok()) {
    totals_.set_refused(totals_.refused() + 1);
    return new RefusedCall(std::move(call), pass.status());
  }
  const std::shared_ptr<const Grant> grant = pass->grant();
  auto* stream = StreamReactor::Create(source_, *this, std::move(call), *std::move(pass), door_,
                                       context.peer());
  streams_.emplace(stream, grant);
  stream->Start();
  changed_.NotifyAll();
  return stream;
}

CallReactor* PieceService::Manifest(grpc::CallbackServerContext& context, OpenCall call) {
  absl::StatusOr<Gate::Pass> pass = gate_.Admit(context, CallKind::kManifest, call.account());
  if (!pass.ok()) return new RefusedCall(std::move(call), pass.status());
  const std::shared_ptr<FileReactor> reactor =
      FileReactor::Create(*this, std::move(call), *std::move(pass), context);
  {
    MutexLock lock(&mutex_);
    files_.insert(reactor.get());
    changed_.NotifyAll();
  }
  return reactor->Start();
}

CallReactor* PieceService::Stats(grpc::CallbackServerContext& context, OpenCall call) {
  absl::StatusOr<Gate::Pass> pass = gate_.Admit(context, CallKind::kStats, call.account());
  if (!pass.ok()) return new RefusedCall(std::move(call), pass.status());
  return (new StatsReactor(*this, std::move(call), *std::move(pass), context))->Start();
}

absl::StatusOr<std::unique_ptr<FileSource>> PieceService::OpenManifest(const Gate::Pass& pass,
                                                                       const std::string& path,
                                                                       const std::string& peer) {
  absl::StatusOr<std::unique_ptr<FileSource>> file = TryOpenManifest(pass, path);
  if (file.ok()) return file;
  if (const std::optional<uint64_t> left_out = gate_.AllowLog("manifest")) {
    LogWarning("manifest refused peer={} path={} error={} left_out={}", peer,
               Quoted(Shortened(path)), Quoted(Shortened(file.status().ToString())), *left_out);
  }
  return file;
}

absl::StatusOr<std::unique_ptr<FileSource>> PieceService::TryOpenManifest(const Gate::Pass& pass,
                                                                          const std::string& path) {
  {
    MutexLock lock(&mutex_);
    if (draining_) return absl::UnavailableError("this server is draining; use another");
  }
  if (!pass.MayRead(path)) {
    return absl::PermissionDeniedError(
        absl::StrCat(Printable(path), ": the client's token is limited to other folders"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> file, root_.OpenFile(path));
  // Check the descriptor that is sent, because the path may lead to another file by now.
  PENSTOCK_ASSIGN_OR_RETURN(const bool is_manifest, IsManifestFile(*file));
  if (is_manifest) return file;
  return absl::InvalidArgumentError(absl::StrCat(
      Printable(path), ": is not a Penstock manifest, and servers send only manifests"));
}

v1::ServerStats PieceService::StatsFor(const Grant* reader) const {
  const bool sees_all = reader == nullptr || reader->roots.empty();
  v1::ServerStats stats = DescribeServer(source_.stats(), started_);
  MutexLock lock(&mutex_);
  stats.set_draining(draining_);
  *stats.mutable_totals() = totals_;
  if (door_ != nullptr) stats.set_shared_memory_bytes(door_->pool_bytes());
  if (sees_all) stats.set_missing_data(missing_data_);
  for (const auto& [stream, grant] : streams_) {
    v1::StreamStats of_stream = stream->stats();
    AddTo(*stats.mutable_totals(), of_stream);
    if (sees_all || grant.get() == reader) *stats.add_stream() = std::move(of_stream);
  }
  return stats;
}

void PieceService::Drain(absl::Duration grace) {
  MutexLock lock(&mutex_);
  if (std::exchange(draining_, true)) return;
  auto grace_ms =
      static_cast<uint32_t>(std::clamp<int64_t>(absl::ToInt64Milliseconds(grace), 0, UINT32_MAX));
  for (const auto& [stream, grant] : streams_) stream->Drain(grace_ms);
}

void PieceService::SetMissingData(const std::string& missing) {
  MutexLock lock(&mutex_);
  missing_data_ = missing;
}

size_t PieceService::num_streams() const {
  MutexLock lock(&mutex_);
  return streams_.size();
}

bool PieceService::is_idle() const {
  MutexLock lock(&mutex_);
  return streams_.empty() && files_.empty();
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

void PieceService::OnFileDone(FileReactor* file) {
  {
    MutexLock lock(&mutex_);
    files_.erase(file);
  }
  on_stream_end_();
}

void PieceService::RunDeadlines() {
  // The pause is a quarter of the time limit, so that nothing stays much longer than its limit.
  const auto pause =
      absl::ToChronoNanoseconds(std::max(limits_.hello_timeout / 4, absl::Milliseconds(10)));
  while (true) {
    {
      MutexLock lock(&mutex_);
      while (!ended_ && streams_.empty() && files_.empty()) changed_.Wait(&mutex_);
      const auto until = std::chrono::steady_clock::now() + pause;
      while (!ended_ && changed_.WaitUntil(&mutex_, until)) continue;
      if (ended_) return;
    }
    EndSilentOnes();
    EndRevokedOnes();
    TellThoseThatWait();
    TellOfLongRead();
  }
}

std::vector<std::shared_ptr<StreamReactor>> PieceService::Streams() const {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<StreamReactor>> streams;
  for (const auto& [stream, grant] : streams_) streams.push_back(stream->shared_from_this());
  return streams;
}

void PieceService::EndSilentOnes() {
  std::vector<std::shared_ptr<FileReactor>> files;
  {
    MutexLock lock(&mutex_);
    for (FileReactor* file : files_) files.push_back(file->shared_from_this());
  }
  // Call this without the lock, because the end of a stream calls this object.
  for (const auto& stream : Streams()) stream->EndIfSilent(limits_.hello_timeout);
  for (const auto& file : files) file->EndIfSilent(limits_.call_timeout);
}

void PieceService::TellThoseThatWait() {
  for (const auto& stream : Streams()) stream->TellOfWait();
}

void PieceService::TellOfLongRead() {
  const EngineStats stats = source_.stats();
  if (stats.longest_read_seconds < kLongRead) return;
  const std::optional<uint64_t> left_out = gate_.AllowLog("storage");
  if (!left_out.has_value()) return;
  LogWarning(
      "storage does not answer shard={} seconds={:.0f} cure=\"check the mount of --data-root\" "
      "left_out={}",
      Quoted(Shortened(stats.longest_read_shard)), stats.longest_read_seconds, *left_out);
}

void PieceService::EndRevokedOnes() {
  std::vector<std::pair<std::shared_ptr<StreamReactor>, std::shared_ptr<const Grant>>> granted;
  {
    MutexLock lock(&mutex_);
    for (const auto& [stream, grant] : streams_) {
      if (grant != nullptr) granted.emplace_back(stream->shared_from_this(), grant);
    }
  }
  // Call this without the lock: the token file may be slow to read, and the end of a stream calls
  // this object.
  for (const auto& [stream, grant] : granted) {
    if (gate_.StillGrants(*grant)) continue;
    {
      MutexLock lock(&mutex_);
      const auto at = streams_.find(stream.get());
      if (at == streams_.end() || std::exchange(at->second, nullptr) == nullptr) continue;
    }
    const v1::StreamStats stats = stream->stats();
    LogWarning("stream ended, its token was revoked peer={} client={}", stats.peer(),
               Quoted(stats.client()));
    stream->End(absl::UnauthenticatedError(
        "the token of this stream was revoked: it was removed from the server's --token-file, or "
        "its folders were changed"));
  }
}

}  // namespace penstock
