#include "bench/engine_rate.h"

#include <array>
#include <atomic>
#include <chrono>
#include <vector>

#include "bench/cpu_seconds.h"
#include "client/loader/window_message.h"
#include "client/plan/chunk_table.h"
#include "client/plan/plan.h"
#include "records/base/mutex.h"
#include "records/base/status.h"
#include "records/base/streaming_copy.h"
#include "records/engine/engine.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

// Takes parts on the engine's threads.
class Sink final : public SessionEvents {
 public:
  explicit Sink(bool to_memory) : ring_(to_memory ? kPlaces * PartBuffer::kMaxPartBytes : 0) {}

  void OnWindowReady(uint64_t, uint64_t) override {}
  void OnPart(PartBuffer part) override {
    if (!ring_.empty()) {
      const size_t place = next_.fetch_add(1, std::memory_order_relaxed) % kPlaces;
      StreamingCopy(part.bytes(), std::span(ring_).subspan(place * PartBuffer::kMaxPartBytes,
                                                           part.bytes().size()));
    }
    const uint64_t request = part.request;
    const uint32_t rows = part.rows;
    const size_t bytes = part.bytes().size();
    part = PartBuffer();
    MutexLock lock(&mutex_);
    rows_[request % kRequests] += rows;
    bytes_ += bytes;
    if (request == awaited_) changed_.NotifyAll();
  }
  void OnError(StreamError error) override {
    MutexLock lock(&mutex_);
    status_ = std::move(error.status);
    changed_.NotifyAll();
  }

  // All `rows` of a request. REQUIRES: fewer than kRequests are under way.
  absl::Status Await(uint64_t request, uint64_t rows) {
    MutexLock lock(&mutex_);
    awaited_ = request;
    uint64_t& arrived = rows_[request % kRequests];
    while (arrived < rows && status_.ok()) changed_.Wait(&mutex_);
    arrived = 0;
    return status_;
  }
  uint64_t bytes() const {
    MutexLock lock(&mutex_);
    return bytes_;
  }

 private:
  static constexpr size_t kPlaces = 64;
  static constexpr size_t kRequests = 8;

  std::vector<uint8_t> ring_;
  std::atomic<size_t> next_{0};
  mutable Mutex mutex_;
  CondVar changed_;
  std::array<uint64_t, kRequests> rows_ ABSL_GUARDED_BY(mutex_) = {};
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t awaited_ ABSL_GUARDED_BY(mutex_) = UINT64_MAX;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

std::vector<OpenWindow> EpochOf(const Manifest& manifest, const PlanOptions& options,
                                const Plan& plan) {
  const ShardPaths shards = ShardPaths::Make(manifest, "");
  const EpochOrder order = plan.Epoch(0);
  std::vector<OpenWindow> windows;
  for (uint32_t lane = 0; lane < order.num_lanes(); ++lane) {
    for (uint32_t index = 0; index < order.num_windows(lane); ++index) {
      const WindowRequest request{
          .number = windows.size(), .id = {0, lane, index}, .order = &order};
      windows.push_back(MakeWindowMessage(manifest, shards, options, request));
    }
  }
  return windows;
}

// One session that always has kAhead windows open.
class Reader {
 public:
  Reader(Session& session, Sink& sink, std::vector<OpenWindow> epoch, WireDtype dtype)
      : session_(session), sink_(sink), epoch_(std::move(epoch)), dtype_(dtype) {}

  absl::Status ReadEpoch() {
    for (size_t i = 0; i < epoch_.size(); ++i, ++done_) {
      while (opened_ < done_ + kAhead) PENSTOCK_RETURN_IF_ERROR(OpenNext());
      rows_ += epoch_[i].rows;
      PENSTOCK_RETURN_IF_ERROR(sink_.Await(done_, epoch_[i].rows));
      PENSTOCK_RETURN_IF_ERROR(session_.Release(done_));
    }
    return absl::OkStatus();
  }
  uint64_t rows() const { return rows_; }

 private:
  static constexpr uint64_t kAhead = 4;

  absl::Status OpenNext() {
    OpenWindow window = epoch_[opened_ % epoch_.size()];
    window.window = window.needed_at = opened_;
    const uint32_t rows = window.rows;
    PENSTOCK_RETURN_IF_ERROR(session_.OpenWindow(std::move(window)));
    PENSTOCK_RETURN_IF_ERROR(session_.Fetch({.request = opened_,
                                             .window = opened_,
                                             .rows = rows,
                                             .dtype = dtype_,
                                             .needed_at = opened_}));
    ++opened_;
    return absl::OkStatus();
  }

  Session& session_;
  Sink& sink_;
  const std::vector<OpenWindow> epoch_;
  const WireDtype dtype_;
  uint64_t opened_ = 0;
  uint64_t done_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace

absl::StatusOr<EngineRate> MeasureEngine(const Manifest& manifest,
                                         const EngineRateOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(
      const Plan plan, Plan::Create(MakeChunkTable(manifest, options.plan.split), options.plan));
  PENSTOCK_ASSIGN_OR_RETURN(auto engine,
                            Engine::Create({.data_root = ShardPaths::Make(manifest, "").data_root,
                                            .threads = options.threads}));
  Sink sink(options.to_memory);
  StreamOptions stream;
  stream.spec = options.spec;
  PENSTOCK_ASSIGN_OR_RETURN(auto session, engine->OpenSession(stream, sink));
  Reader reader(*session, sink, EpochOf(manifest, plan.options(), plan), options.dtype);
  PENSTOCK_RETURN_IF_ERROR(reader.ReadEpoch());
  const uint64_t rows = reader.rows();
  const uint64_t bytes = sink.bytes();
  const double cpu = OwnCpuSeconds();
  const Clock::time_point begin = Clock::now();
  double seconds = 0;
  do {
    PENSTOCK_RETURN_IF_ERROR(reader.ReadEpoch());
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  } while (seconds < options.seconds);
  const auto read = static_cast<double>(reader.rows() - rows);
  return EngineRate{.positions_per_second = read / seconds,
                    .bytes_per_second = static_cast<double>(sink.bytes() - bytes) / seconds,
                    .cpu_seconds_per_million = (OwnCpuSeconds() - cpu) / read * 1e6};
}

}  // namespace penstock
