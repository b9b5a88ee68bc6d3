#include "bench/engine_rate.h"

#include <array>
#include <atomic>
#include <chrono>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/streaming_copy.h"
#include "bench/cpu_seconds.h"
#include "client/loader/window_message.h"
#include "client/plan/chunk_table.h"
#include "client/plan/plan.h"
#include "records/decode/program.h"
#include "records/engine/engine.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

// Receives parts, or rows to decode, on the engine's threads.
class Sink final : public SessionEvents {
 public:
  static constexpr size_t kRequests = 16;

  Sink(const Program& program, bool to_memory)
      : program_(program), ring_(to_memory ? kPlaces * kPlaceBytes + 64 : 0) {}

  void OnWindowReady(uint64_t, uint64_t) override {}
  void OnPart(PartBuffer part) override {
    const uint64_t request = part.request;
    const uint32_t rows = part.rows;
    const size_t bytes = part.size();
    part = PartBuffer();
    Count(request, rows, bytes);
  }
  bool DecodesRows() const override { return !ring_.empty(); }
  void OnRows(RowSource& rows) override {
    const size_t place = next_.fetch_add(1, std::memory_order_relaxed) % kPlaces;
    uint8_t* to = &ring_[place * kPlaceBytes + -reinterpret_cast<uintptr_t>(ring_.data()) % 64];
    std::vector<uint8_t*> outputs;
    for (const TensorInfo& tensor : program_.tensors()) {
      outputs.push_back(to);
      to += (rows.rows() * tensor.row_bytes + 63) / 64 * 64;
    }
    outputs.push_back(to);
    if (!rows.Decode(0, rows.rows(), outputs)) return;  // OnError() follows.
    StreamingFence();
    Count(rows.request(), rows.rows(), rows.rows() * rows.row_bytes());
  }
  void OnError(StreamError error) override {
    MutexLock lock(&mutex_);
    status_ = std::move(error.status);
    changed_.NotifyAll();
  }

  // Waits for all `rows` of a request. REQUIRES: fewer than kRequests are outstanding.
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
  // The 4096 bytes are for alignment.
  static constexpr size_t kPlaceBytes = PartBuffer::kMaxPartBytes + 4096;

  void Count(uint64_t request, uint32_t rows, size_t bytes) {
    MutexLock lock(&mutex_);
    rows_[request % kRequests] += rows;
    bytes_ += bytes;
    if (request == awaited_) changed_.NotifyAll();
  }

  const Program& program_;
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
      const WindowRequest request{.number = windows.size(),
                                  .id = {0, lane, index},
                                  .order = {std::shared_ptr<void>(), &order}};
      windows.push_back(MakeWindowMessage(manifest, shards, options, request));
    }
  }
  return windows;
}

// The part of a window that one request asks for.
struct Slice {
  size_t window = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  bool last = false;  // Whether it is the last slice of its window.
};

// Cuts windows into slices. `side_by_side` windows give one slice each in turn.
std::vector<Slice> SlicesOf(const std::vector<OpenWindow>& epoch, uint32_t side_by_side,
                            uint64_t rows) {
  std::vector<Slice> slices;
  for (size_t group = 0; group < epoch.size(); group += side_by_side) {
    const size_t end = std::min(group + side_by_side, epoch.size());
    size_t before = 0;
    for (uint64_t row = 0; slices.size() > before || row == 0; row += rows) {
      before = slices.size();
      for (size_t window = group; window < end; ++window) {
        if (row >= epoch[window].rows) continue;
        const uint64_t left = epoch[window].rows - row;
        slices.push_back({window, static_cast<uint32_t>(row),
                          static_cast<uint32_t>(std::min(rows, left)), left <= rows});
      }
    }
  }
  return slices;
}

// Reads with one session, which always has kAhead requests outstanding.
class Reader {
 public:
  Reader(Session& session, Sink& sink, std::vector<OpenWindow> epoch, std::vector<Slice> slices,
         WireDtype dtype)
      : session_(session),
        sink_(sink),
        epoch_(std::move(epoch)),
        slices_(std::move(slices)),
        dtype_(dtype) {}

  absl::Status ReadEpoch() {
    for (const Slice& slice : slices_) {
      while (asked_ < done_ + kAhead) PENSTOCK_RETURN_IF_ERROR(AskNext());
      PENSTOCK_RETURN_IF_ERROR(sink_.Await(done_, slice.rows));
      if (slice.last) {
        PENSTOCK_RETURN_IF_ERROR(session_.Release(NumberOf(slice, done_ / slices_.size())));
      }
      rows_ += slice.rows;
      ++done_;
    }
    return absl::OkStatus();
  }
  uint64_t rows() const { return rows_; }

 private:
  static constexpr uint64_t kAhead = 8;
  static_assert(kAhead < Sink::kRequests);

  uint64_t NumberOf(const Slice& slice, uint64_t epoch) const {
    return epoch * epoch_.size() + slice.window;
  }
  absl::Status AskNext() {
    const Slice& slice = slices_[asked_ % slices_.size()];
    const uint64_t number = NumberOf(slice, asked_ / slices_.size());
    if (slice.first_row == 0) {
      OpenWindow window = epoch_[slice.window];
      window.window = number;
      window.needed_at = asked_;
      PENSTOCK_RETURN_IF_ERROR(session_.OpenWindow(std::move(window)));
    }
    PENSTOCK_RETURN_IF_ERROR(session_.Fetch({.request = asked_,
                                             .window = number,
                                             .first_row = slice.first_row,
                                             .rows = slice.rows,
                                             .dtype = dtype_,
                                             .needed_at = asked_}));
    ++asked_;
    return absl::OkStatus();
  }

  Session& session_;
  Sink& sink_;
  const std::vector<OpenWindow> epoch_;
  const std::vector<Slice> slices_;
  const WireDtype dtype_;
  uint64_t asked_ = 0;
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
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(options.spec, options.dtype));
  Sink sink(program, options.to_memory);
  StreamOptions stream;
  stream.spec = options.spec;
  PENSTOCK_ASSIGN_OR_RETURN(auto session, engine->OpenSession(stream, sink));
  std::vector<OpenWindow> epoch = EpochOf(manifest, plan.options(), plan);
  std::vector<Slice> slices =
      SlicesOf(epoch, options.side_by_side,
               std::max<uint64_t>(options.request_bytes / program.row_bytes(), 1));
  Reader reader(*session, sink, std::move(epoch), std::move(slices), options.dtype);
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
