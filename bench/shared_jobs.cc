#include "bench/shared_jobs.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/permutation.h"
#include "base/status.h"
#include "bench/cpu_seconds.h"
#include "records/engine/engine.h"

namespace penstock {
namespace {

constexpr size_t kChunksPerWindow = 16;
constexpr uint32_t kStrip = 16;
constexpr size_t kRequestBytes = 1000 << 10;  // The size of a loader's requests, in bytes.
constexpr size_t kRequestsAhead = 4;
constexpr uint64_t kWindowsAhead = 3;

// Counts rows and drops them. All ranks share one sink, so that waiting takes one wake-up a turn.
class Sink final : public SessionEvents {
 public:
  void OnWindowReady(uint64_t, uint64_t) override {}
  void OnPart(PartBuffer part) override {
    const uint32_t rows = part.rows;
    part = PartBuffer();
    const uint64_t before = rows_.fetch_add(rows);
    const uint64_t awaited = awaited_.load();
    if (before >= awaited || before + rows < awaited) return;
    MutexLock lock(&mutex_);
    changed_.NotifyAll();
  }
  void OnError(StreamError error) override {
    MutexLock lock(&mutex_);
    status_ = std::move(error.status);
    changed_.NotifyAll();
  }
  absl::Status Await(uint64_t rows) {
    awaited_ = rows;
    MutexLock lock(&mutex_);
    while (rows_.load() < rows && status_.ok()) changed_.Wait(&mutex_);
    return status_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::atomic<uint64_t> rows_ = 0;
  std::atomic<uint64_t> awaited_ = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

struct Rank {
  std::unique_ptr<Session> session;
  uint32_t job = 0;
  uint32_t rank = 0;
  uint32_t ranks = 1;
  uint64_t request = 0;
};

class Jobs {
 public:
  Jobs(const ChessData& data, const SharedJobsOptions& options) : options_(options) {
    std::vector<uint32_t> order(data.chunks().size());
    std::iota(order.begin(), order.end(), 0);
    Shuffle(order, 1);
    for (size_t first = 0; first + kChunksPerWindow <= order.size(); first += kChunksPerWindow) {
      const auto begin = order.begin() + static_cast<ptrdiff_t>(first);
      windows_.push_back(data.Window(first, std::vector<size_t>(begin, begin + kChunksPerWindow),
                                     Split::kAll, true, first + 7));
      rows_ += windows_.back().rows;
    }
  }

  absl::Status Open(Engine& engine, const ChessData& data) {
    PENSTOCK_ASSIGN_OR_RETURN(const Program program,
                              Program::Compile(data.Stream().spec, options_.dtype));
    request_rows_ = static_cast<uint32_t>(kRequestBytes / program.row_bytes());
    request_rows_ -= request_rows_ % kStrip;
    for (uint32_t job = 0; job < options_.jobs; ++job) {
      const uint32_t ranks = (options_.first_job + job) % options_.max_ranks + 1;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        PENSTOCK_ASSIGN_OR_RETURN(auto session, engine.OpenSession(data.Stream(), sink_));
        ranks_.push_back({std::move(session), job, rank, ranks, 0});
      }
    }
    return absl::OkStatus();
  }

  // Adds the size of the strip cache to `kept`, after every fourth turn because it takes time.
  absl::Status ReadEpoch(const Engine& engine, std::vector<double>& kept) {
    for (size_t i = 0; i < windows_.size(); ++i, ++number_) {
      while (opened_ < number_ + kWindowsAhead) PENSTOCK_RETURN_IF_ERROR(OpenNext());
      for (uint32_t turn = 0; turn < Turns(windows_[i].rows); ++turn) {
        PENSTOCK_RETURN_IF_ERROR(AskAll(windows_[i].rows, turn));
        if (turn % 4 == 3) kept.push_back(static_cast<double>(engine.stats().strip_bytes));
      }
      while (!due_.empty()) PENSTOCK_RETURN_IF_ERROR(AwaitOldest());
      PENSTOCK_RETURN_IF_ERROR(
          ForReaders(number_, [&](Rank& rank) { return rank.session->Release(number_); }));
    }
    return absl::OkStatus();
  }
  uint64_t rows() const { return rows_; }

 private:
  // Returns the number of requests for one window by a job of one rank, which reads everything.
  uint32_t Turns(uint32_t rows) const { return rows / request_rows_ + 2; }

  template <typename Do>
  absl::Status ForReaders(uint64_t number, const Do& act) {
    for (Rank& rank : ranks_) {
      if (!options_.strips && number % rank.ranks != rank.rank) continue;
      PENSTOCK_RETURN_IF_ERROR(act(rank));
    }
    return absl::OkStatus();
  }
  absl::Status OpenNext() {
    PENSTOCK_RETURN_IF_ERROR(ForReaders(opened_, [this](Rank& rank) {
      OpenWindow window = windows_[opened_ % windows_.size()];
      window.window = window.needed_at = opened_;
      return rank.session->OpenWindow(std::move(window));
    }));
    ++opened_;
    return absl::OkStatus();
  }
  absl::Status AskAll(uint32_t rows, uint32_t turn) {
    PENSTOCK_RETURN_IF_ERROR(ForReaders(number_, [&](Rank& rank) {
      return options_.strips ? AskStrips(rank, rows, turn) : AskLane(rank, rows, turn);
    }));
    due_.push_back(asked_);
    return due_.size() < 2 * kRequestsAhead ? absl::OkStatus() : AwaitOldest();
  }
  // Waits for kRequestsAhead turns at once, because each wait costs this process a wake-up.
  absl::Status AwaitOldest() {
    const size_t turns = std::min(kRequestsAhead, due_.size());
    PENSTOCK_RETURN_IF_ERROR(sink_.Await(due_[turns - 1]));
    due_.erase(due_.begin(), due_.begin() + static_cast<ptrdiff_t>(turns));
    return absl::OkStatus();
  }
  absl::Status AskLane(Rank& rank, uint32_t rows, uint32_t turn) {
    // The first request of a window is shorter, and its length differs from job to job.
    const uint32_t start = std::max(kStrip, rank.job * 3 * kStrip % request_rows_);
    const uint32_t first = turn == 0 ? 0 : start + (turn - 1) * request_rows_;
    if (first >= rows) return absl::OkStatus();
    const uint32_t n = std::min(turn == 0 ? start : request_rows_, rows - first);
    return Ask(rank, {.first_row = first, .rows = n, .stride = n, .count = 1});
  }
  absl::Status AskStrips(Rank& rank, uint32_t rows, uint32_t turn) {
    const uint32_t strips = rows / kStrip;  // The rest of the window is not read.
    const uint32_t per_request = request_rows_ / kStrip;
    if (turn % rank.ranks != 0) return absl::OkStatus();  // One request lasts for `ranks` turns.
    const uint32_t first = rank.rank + turn * per_request;
    if (first >= strips) return absl::OkStatus();
    return Ask(rank,
               {.first_row = first * kStrip,
                .rows = kStrip,
                .stride = kStrip * rank.ranks,
                .count = std::min(per_request, (strips - first + rank.ranks - 1) / rank.ranks)});
  }
  absl::Status Ask(Rank& rank, Fetch fetch) {
    fetch.request = fetch.needed_at = ++rank.request;
    fetch.window = number_;
    fetch.dtype = options_.dtype;
    asked_ += uint64_t{fetch.rows} * fetch.count;
    return rank.session->Fetch(fetch);
  }

  const SharedJobsOptions& options_;
  std::vector<OpenWindow> windows_;
  uint64_t rows_ = 0;  // Number of rows of an epoch.
  uint32_t request_rows_ = 0;
  Sink sink_;
  std::vector<Rank> ranks_;
  uint64_t opened_ = 0;
  uint64_t number_ = 0;
  uint64_t asked_ = 0;
  std::deque<uint64_t> due_;  // For each turn not yet awaited, the rows requested up to it.
};

}  // namespace

absl::StatusOr<SharedJobsCost> MeasureSharedJobs(const std::string& folder, const ChessData& data,
                                                 const SharedJobsOptions& options) {
  const uint64_t chunks = std::max(data.file_bytes() / 2, uint64_t{64} << 20);
  // The strip cache may take at most an eighth of the budget.
  const uint64_t strip_cache = std::min(options.strip_cache, chunks / 7);
  PENSTOCK_ASSIGN_OR_RETURN(auto engine, Engine::Create({.data_root = folder,
                                                         .threads = options.threads,
                                                         .memory_budget = chunks + strip_cache,
                                                         .strip_cache = strip_cache}));
  Jobs jobs(data, options);
  PENSTOCK_RETURN_IF_ERROR(jobs.Open(*engine, data));
  std::vector<double> kept;
  PENSTOCK_RETURN_IF_ERROR(jobs.ReadEpoch(*engine, kept));
  kept.clear();
  const EngineStats before = engine->stats();
  const double cpu = OwnCpuSeconds();
  for (uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
    PENSTOCK_RETURN_IF_ERROR(jobs.ReadEpoch(*engine, kept));
  }
  const auto rows = static_cast<double>(jobs.rows() * options.epochs);
  const double seconds = OwnCpuSeconds() - cpu;
  const EngineStats after = engine->stats();
  const uint64_t decoded = after.rows_decoded - before.rows_decoded -
                           (after.strip_rows - before.strip_rows) +
                           (after.strip_rows_decoded - before.strip_rows_decoded);
  return SharedJobsCost{.cpu_ns_per_row = 1e9 * seconds / rows,
                        .decoded = static_cast<double>(decoded) / rows,
                        .kept_bytes = std::accumulate(kept.begin(), kept.end(), 0.0) /
                                      static_cast<double>(kept.size())};
}

}  // namespace penstock
