// What more jobs on the same plan cost an engine: jobs of different numbers of ranks read the same
// windows in step, every rank over a session of its own, with requests of 512 KiB.
//
//   strip_cache_bench [--benchmark_out=FILE --benchmark_out_format=json]
//
// Job j has R = j % 4 + 1 ranks. Lanes: a rank reads whole windows, as it does where ranks take
// whole strips of the same lanes at every step; requests of different jobs begin at different rows.
// Strips: the ranks of a job take turns with the strips of 16 rows of every window. CPU is that of
// the process; items are rows sent. cpu_ns_per_row is per row of the plan, not of the jobs: what 8
// jobs need divided by what 1 needs is what sharing costs.
#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "records/base/permutation.h"
#include "records/engine/engine.h"
#include "records/engine/testing/chess_data.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

constexpr size_t kChunks = 1024;  // More than the budget holds.
constexpr uint64_t kBudget = uint64_t{192} << 20;
constexpr size_t kChunksPerWindow = 16;
constexpr uint32_t kRecordsPerChunk = (256 << 10) / 244;
constexpr uint32_t kStrip = 16;
constexpr uint32_t kRoundRows = 3840;  // Asked for at a time: what keeps the jobs in step.
constexpr size_t kRequestBytes = 512 << 10;

// Made once, in the page cache.
struct Data {
  TempFolder folder;
  ChessData chess{
      folder.path(),
      {.shards = 4, .chunks_per_shard = kChunks / 4, .records_per_chunk = kRecordsPerChunk}};

  std::vector<OpenWindow> Epoch() const {
    std::vector<uint32_t> order(kChunks);
    std::iota(order.begin(), order.end(), 0);
    Shuffle(order, 1);
    std::vector<OpenWindow> windows;
    for (size_t w = 0; w < kChunks / kChunksPerWindow; ++w) {
      const auto first = order.begin() + static_cast<ptrdiff_t>(w * kChunksPerWindow);
      windows.push_back(chess.Window(w, std::vector<size_t>(first, first + kChunksPerWindow),
                                     Split::kAll, true, w + 7));
    }
    return windows;
  }
};

const Data& TheData() {
  static const Data data;
  return data;
}

// Counts rows and drops them. For all ranks, so that one wake-up a round is all that waiting takes.
class Reader : public SessionEvents {
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
    fprintf(stderr, "%s\n", error.status.ToString().c_str());
    std::abort();
  }
  void Await(uint64_t rows) {
    awaited_ = rows;
    MutexLock lock(&mutex_);
    while (rows_.load() < rows) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::atomic<uint64_t> rows_ = 0;
  std::atomic<uint64_t> awaited_ = 0;
};

void Must(const absl::Status& status) {
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.ToString().c_str());
    std::abort();
  }
}

enum Pattern { kLanes, kStrips };

// One rank of one job.
class Rank {
 public:
  Rank(Engine& engine, Reader& reader, uint32_t job, uint32_t rank, uint32_t ranks, Pattern pattern,
       WireDtype dtype)
      : session_(engine.OpenSession(TheData().chess.Stream(), reader).value()),
        job_(job),
        rank_(rank),
        ranks_(ranks),
        pattern_(pattern),
        dtype_(dtype) {
    const auto program = Program::Compile(TheData().chess.Stream().spec, dtype).value();
    request_rows_ = static_cast<uint32_t>(kRequestBytes / program.row_bytes());
    request_rows_ -= request_rows_ % kStrip;
  }

  bool Reads(uint64_t number) const { return pattern_ == kStrips || number % ranks_ == rank_; }
  void Open(OpenWindow window, uint64_t number) {
    if (!Reads(number)) return;
    window.window = window.needed_at = number;
    Must(session_->OpenWindow(std::move(window)));
  }
  // Asks for this rank's part of rows [first, first + rows) of the window.
  void Fetch(uint64_t number, uint32_t first, uint32_t rows) {
    if (!Reads(number)) return;
    pattern_ == kLanes ? FetchLane(number, first, rows) : FetchStrips(number, first, rows);
  }
  uint64_t asked() const { return asked_; }
  void Release(uint64_t number) {
    if (Reads(number)) Must(session_->Release(number));
  }

 private:
  void Ask(uint64_t window, uint32_t first, uint32_t rows, uint32_t stride, uint32_t count) {
    asked_ += uint64_t{rows} * count;
    Must(session_->Fetch({.request = ++request_,
                          .window = window,
                          .first_row = first,
                          .rows = rows,
                          .stride = stride,
                          .count = count,
                          .dtype = dtype_,
                          .needed_at = request_}));
  }
  void FetchLane(uint64_t number, uint32_t first, uint32_t rows) {
    uint32_t n = std::max(kStrip, job_ * 3 * kStrip % request_rows_);
    for (uint32_t row = 0; row < rows; row += n, n = request_rows_) {
      n = std::min(n, rows - row);
      Ask(number, first + row, n, n, 1);
    }
  }
  void FetchStrips(uint64_t number, uint32_t first, uint32_t rows) {
    const uint32_t strips = rows / kStrip;  // What is left of the window nobody reads.
    const uint32_t per_request = request_rows_ / kStrip;
    for (uint32_t s = rank_; s < strips; s += per_request * ranks_) {
      const uint32_t left = (strips - s + ranks_ - 1) / ranks_;
      Ask(number, first + s * kStrip, kStrip, kStrip * ranks_, std::min(per_request, left));
    }
  }

  std::unique_ptr<Session> session_;
  const uint32_t job_, rank_, ranks_;
  const Pattern pattern_;
  const WireDtype dtype_;
  uint32_t request_rows_ = 0;
  uint64_t request_ = 0;
  uint64_t asked_ = 0;
};

// Arguments: jobs, dtype, pattern, strip cache in MiB.
void Jobs(benchmark::State& state) {
  const auto jobs = static_cast<uint32_t>(state.range(0));
  const auto strip_cache = static_cast<uint64_t>(state.range(3)) << 20;
  auto engine = Engine::Create({.data_root = TheData().folder.path(),
                                .threads = 2,
                                .memory_budget = kBudget + strip_cache,
                                .strip_cache = strip_cache})
                    .value();
  Reader reader;
  std::vector<std::unique_ptr<Rank>> ranks;
  for (uint32_t job = 0; job < jobs; ++job) {
    const uint32_t num = job % 4 + 1;
    for (uint32_t r = 0; r < num; ++r) {
      ranks.push_back(std::make_unique<Rank>(*engine, reader, job, r, num,
                                             static_cast<Pattern>(state.range(2)),
                                             static_cast<WireDtype>(state.range(1))));
    }
  }
  const std::vector<OpenWindow> epoch = TheData().Epoch();
  uint64_t opened = 0, number = 0, rows = 0;
  uint64_t due = 0, kept = 0, looks = 0;
  const clock_t start = clock();
  for (auto _ : state) {
    for (size_t w = 0; w < epoch.size(); ++w, ++number) {
      for (; opened < number + 3; ++opened) {
        for (auto& rank : ranks) rank->Open(epoch[opened % epoch.size()], opened);
      }
      for (uint32_t first = 0; first < epoch[w].rows; first += kRoundRows) {
        const uint32_t n = std::min(kRoundRows, epoch[w].rows - first);
        for (auto& rank : ranks) rank->Fetch(number, first, n);
        uint64_t asked = 0;
        for (auto& rank : ranks) asked += rank->asked();
        kept += engine->stats().strip_bytes;
        ++looks;
        reader.Await(std::exchange(due, asked));  // The round before: the engine never runs dry.
      }
      reader.Await(due);
      for (auto& rank : ranks) rank->Release(number);
      rows += epoch[w].rows;
    }
  }
  const double cpu = static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
  const EngineStats stats = engine->stats();
  state.SetItemsProcessed(static_cast<int64_t>(stats.rows_decoded));
  state.counters["cpu_ns_per_row"] = 1e9 * cpu / static_cast<double>(rows);
  state.counters["decoded"] =
      static_cast<double>(stats.rows_decoded - stats.strip_rows + stats.strip_rows_decoded) /
      static_cast<double>(rows);
  state.counters["kept_MiB"] = static_cast<double>(kept) / static_cast<double>(looks) / (1 << 20);
  state.counters["rows_per_part"] =
      static_cast<double>(stats.rows_decoded) / static_cast<double>(stats.parts);
}
BENCHMARK(Jobs)
    ->ArgNames({"jobs", "dtype", "strips", "cache"})
    ->ArgsProduct({{1, 8},
                   {static_cast<int64_t>(WireDtype::kPacked), static_cast<int64_t>(WireDtype::kI8),
                    static_cast<int64_t>(WireDtype::kF32)},
                   {kLanes, kStrips},
                   {0, 4, 64}})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace penstock

BENCHMARK_MAIN();
