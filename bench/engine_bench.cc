// Measures the engine from page cache to decoded parts, beside the machine's ceilings: memory
// write, memory copy, pread and CRC-32C of the same bytes. Records have the shape of a chess
// position (d of 194 bytes, s int64). Windows are 16 shuffled chunks of 256 KiB. Every chunk's CRC
// is verified.
//
//   engine_bench [--benchmark_out=FILE --benchmark_out_format=json]
//
// items/s counts positions; bytes/s counts what the benchmark writes. CPU time is the process's.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "base/counter_rng.h"
#include "base/crc32c.h"
#include "base/io/root.h"
#include "base/permutation.h"
#include "benchmark/benchmark.h"
#include "records/engine/chunk_loader.h"
#include "records/engine/engine.h"
#include "records/engine/page_memory.h"
#include "records/engine/shared_window.h"
#include "records/engine/testing/chess_data.h"
#include "records/engine/testing/recorder.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

constexpr uint32_t kChunkBytes = 256 << 10;
constexpr uint32_t kRecordsPerChunk = kChunkBytes / 244;
constexpr size_t kChunks = 320;  // 80 MiB, more than any L2.
constexpr size_t kChunksPerWindow = 16;

// The data set, made once and then read from the page cache.
struct Data {
  TempFolder folder;
  ChessData chess{
      folder.path(),
      {.shards = 4, .chunks_per_shard = kChunks / 4, .records_per_chunk = kRecordsPerChunk}};

  // Returns window w of an epoch that visits the chunks in shuffled order.
  OpenWindow Window(uint64_t w) const {
    constexpr uint64_t kWindows = kChunks / kChunksPerWindow;
    std::vector<uint32_t> order(kChunks);
    std::iota(order.begin(), order.end(), 0);
    Shuffle(order, w / kWindows);
    const auto first = order.begin() + static_cast<ptrdiff_t>(w % kWindows * kChunksPerWindow);
    return chess.Window(w, {first, first + kChunksPerWindow}, Split::kAll, true, DeriveKey(7, w));
  }
  std::vector<OpenWindow> Epoch() const {
    std::vector<OpenWindow> windows;
    for (uint64_t w = 0; w < kChunks / kChunksPerWindow; ++w) windows.push_back(Window(w));
    return windows;
  }
};

const Data& TheData() {
  static const Data data;
  return data;
}

void MemoryWrite(benchmark::State& state) {
  std::vector<uint8_t> memory(size_t{256} << 20, 1);
  for (auto _ : state) {
    std::memset(memory.data(), static_cast<int>(state.iterations()), memory.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * memory.size()));
}
BENCHMARK(MemoryWrite);

void MemoryCopy(benchmark::State& state) {
  std::vector<uint8_t> from(size_t{256} << 20, 1), to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * from.size()));
}
BENCHMARK(MemoryCopy);

// Calls visit(bytes) with every chunk of an epoch, read into one buffer.
template <typename Visit>
void ReadEpoch(benchmark::State& state, const Visit& visit) {
  const ChessData& data = TheData().chess;
  const Root root = Root::Open(TheData().folder.path()).value();
  std::vector<std::unique_ptr<FileSource>> files;
  for (const ShardRef& shard : data.shards()) files.push_back(root.OpenFile(shard.path).value());
  const std::vector<OpenWindow> epoch = TheData().Epoch();
  std::vector<uint8_t> buffer(2 * kChunkBytes);
  int64_t bytes = 0, records = 0;
  for (auto _ : state) {
    for (const OpenWindow& window : epoch) {
      for (const ChunkRef& chunk : window.chunks) {
        std::span<uint8_t> out = std::span(buffer).first(chunk.size);
        if (!files[chunk.shard]->ReadAt(chunk.offset, out).ok()) std::abort();
        visit(out);
        bytes += chunk.size;
        records += chunk.records;
      }
    }
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(records);
}

void Pread(benchmark::State& state) {
  ReadEpoch(state, [](std::span<uint8_t> bytes) { benchmark::DoNotOptimize(bytes.data()); });
}
BENCHMARK(Pread);

void PreadAndCrc(benchmark::State& state) {
  ReadEpoch(state, [](std::span<uint8_t> bytes) { benchmark::DoNotOptimize(Crc32c(bytes)); });
}
BENCHMARK(PreadAndCrc);

void CrcInCache(benchmark::State& state) {
  std::vector<uint8_t> bytes(kChunkBytes, 7);
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(bytes));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK(CrcInCache);

// The components of the engine in one thread, without sessions.
struct Bare {
  Bare(WireDtype dtype)
      : decodings(Decodings::Compile(TheData().chess.Stream()).value()),
        decoding(*decodings.For(dtype)) {}

  const Root root = Root::Open(TheData().folder.path()).value();
  FileCache files{root, 16};
  PageMemory memory{uint64_t{8} << 30, 16 << 20};
  StorageSpeed speed{std::chrono::microseconds(200)};
  ChunkLoader loader{files, memory, speed};
  Decodings decodings;
  const Decoding& decoding;
  std::shared_ptr<const ChunkLayout> layout =
      std::make_shared<ChunkLayout>(decodings.features(), "", 0);
  PieceDecoder decoder;
  std::vector<uint8_t> part = std::vector<uint8_t>(PartBuffer::kMaxPartBytes);

  std::vector<Chunk> Load(const OpenWindow& window) {
    std::vector<Chunk> chunks;
    LoadError error;
    for (const ChunkRef& ref : window.chunks) {
      chunks.push_back(loader.Load(window.shards[ref.shard], ref, layout, {}, error).value());
    }
    return chunks;
  }
  WindowRows Rows(const OpenWindow& window, const std::vector<Chunk>& chunks) {
    std::vector<WindowChunk> refs;
    for (const Chunk& chunk : chunks) refs.push_back({&chunk, 0});
    return WindowRows::Build(refs, nullptr, layout->row_bytes(), {window.split, true, window.key},
                             false)
        .value();
  }
  void Decode(const SharedWindow& window) {
    const size_t rows = window.rows.size();
    const RowPattern all{0, static_cast<uint32_t>(rows), 0, 1};
    for (uint64_t row = 0; row < rows;) {
      const size_t n = std::min<uint64_t>(decoding.rows_per_part, rows - row);
      decoder.Decode({decoding, *layout, window, all, row, n},
                     std::span(part).first(n * decoding.row_bytes));
      row += n;
    }
  }
};

WireDtype DtypeOf(const benchmark::State& state) { return static_cast<WireDtype>(state.range(0)); }

void Dtypes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("dtype");
  for (WireDtype dtype : {WireDtype::kPacked, WireDtype::kI8, WireDtype::kBf16, WireDtype::kF32}) {
    bench->Arg(static_cast<int64_t>(dtype));
  }
}

void LoadOnly(benchmark::State& state) {
  Bare bare(WireDtype::kPacked);
  const std::vector<OpenWindow> epoch = TheData().Epoch();
  int64_t rows = 0;
  for (auto _ : state) {
    for (const OpenWindow& window : epoch) {
      benchmark::DoNotOptimize(bare.Load(window));
      rows += window.rows;
    }
  }
  state.SetItemsProcessed(rows);
}
BENCHMARK(LoadOnly);

void RowsOnly(benchmark::State& state) {
  Bare bare(WireDtype::kPacked);
  const OpenWindow window = TheData().Window(0);
  const std::vector<Chunk> chunks = bare.Load(window);
  for (auto _ : state) benchmark::DoNotOptimize(bare.Rows(window, chunks));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * window.rows));
}
BENCHMARK(RowsOnly);

void DecodeOnly(benchmark::State& state) {
  Bare bare(DtypeOf(state));
  const OpenWindow window = TheData().Window(0);
  const std::vector<Chunk> chunks = bare.Load(window);
  SharedWindow shared;
  shared.rows = bare.Rows(window, chunks);
  for (auto _ : state) bare.Decode(shared);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * window.rows));
  state.SetBytesProcessed(state.items_processed() * static_cast<int64_t>(bare.decoding.row_bytes));
}
BENCHMARK(DecodeOnly)->Apply(Dtypes);

// Loads, permutes and decodes with one thread.
void OneThread(benchmark::State& state) {
  Bare bare(DtypeOf(state));
  const std::vector<OpenWindow> epoch = TheData().Epoch();
  int64_t rows = 0;
  for (auto _ : state) {
    for (const OpenWindow& window : epoch) {
      const std::vector<Chunk> chunks = bare.Load(window);
      SharedWindow shared;
      shared.rows = bare.Rows(window, chunks);
      bare.Decode(shared);
      rows += window.rows;
    }
  }
  state.SetItemsProcessed(rows);
  state.SetBytesProcessed(rows * static_cast<int64_t>(bare.decoding.row_bytes));
}
BENCHMARK(OneThread)->Apply(Dtypes);

// Waits for parts and drops them.
class Reader : public SessionEvents {
 public:
  void OnWindowReady(uint64_t, uint64_t) override {}
  void OnPart(PartBuffer part) override {
    benchmark::DoNotOptimize(part.pieces().data());
    const uint32_t rows = part.rows;
    part = PartBuffer();
    MutexLock lock(&mutex_);
    rows_ += rows;
    if (rows_ >= awaited_) changed_.NotifyAll();
  }
  void OnError(StreamError error) override {
    fprintf(stderr, "%s\n", error.status.ToString().c_str());
    std::abort();
  }
  void Await(uint64_t rows) {
    MutexLock lock(&mutex_);
    awaited_ = rows;
    while (rows_ < rows) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  uint64_t rows_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t awaited_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Runs the whole engine with one session and range(1) threads, a few windows ahead. If range(2) is
// 0, the budget holds 6 windows, so each epoch reads every chunk again. Otherwise it holds all
// windows.
void WholeEngine(benchmark::State& state) {
  const uint64_t budget = state.range(2) != 0 ? uint64_t{1} << 30 : uint64_t{24} << 20;
  auto engine = Engine::Create({.data_root = TheData().folder.path(),
                                .threads = static_cast<uint32_t>(state.range(1)),
                                .memory_budget = budget})
                    .value();
  Reader reader;
  auto session = engine->OpenSession(TheData().chess.Stream(), reader).value();
  const std::vector<OpenWindow> epoch = TheData().Epoch();
  constexpr uint64_t kAhead = 3;
  uint64_t opened = 0, awaited = 0;
  const auto open = [&] {
    OpenWindow window = epoch[opened % epoch.size()];
    window.window = window.needed_at = opened;
    if (!session->OpenWindow(window).ok()) std::abort();
    if (!session
             ->Fetch({.request = opened,
                      .window = opened,
                      .rows = window.rows,
                      .dtype = DtypeOf(state),
                      .needed_at = opened})
             .ok()) {
      std::abort();
    }
    ++opened;
  };
  uint64_t rows = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < epoch.size(); ++i, ++awaited) {
      while (opened < awaited + kAhead) open();
      rows += epoch[i].rows;
      reader.Await(rows);
      if (!session->Release(awaited).ok()) std::abort();
    }
  }
  const EngineStats stats = engine->stats();
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(stats.bytes_out));
  state.counters["read_per_epoch"] = static_cast<double>(stats.bytes_read) /
                                     static_cast<double>(TheData().chess.file_bytes()) /
                                     static_cast<double>(state.iterations());
}
BENCHMARK(WholeEngine)
    ->ArgNames({"dtype", "threads", "in_budget"})
    ->ArgsProduct({{static_cast<int64_t>(WireDtype::kPacked), static_cast<int64_t>(WireDtype::kI8)},
                   {1, 2},
                   {0, 1}})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace penstock

BENCHMARK_MAIN();
