// Measures the reading and indexing of chess records on one core, beside the ceilings of the same
// run.
//
//   Crc/SIZE       CRC-32C over SIZE bytes in cache.
//   ParseFrames/.. framing of a 256 KiB chunk in cache. `length` checks the length CRCs only, as
//                  after a verified chunk checksum; `payload` checks the payloads' CRCs too.
//   FindFeatures/. d and s of the records of a 256 KiB chunk in cache. `alike`: records as the
//                  packer writes them. `walk`: each record has a different structure. `numbers`: 40
//                  integers of any size.
//   CutSamples/... samples of a WebDataset tar to Examples. Each has a label and a JPEG of SIZE
//                  bytes. Copy/SIZE is the plain copy of as many bytes, in the same steps.
//   SplitHash      hash of the 194 bytes that decide the split.
//   Read           plain pread of a file of 256 MiB from page cache in pieces of 512 KiB. This is
//                  the ceiling of Scan and Index.
//   Scan           the indexer's work on that file on one core: plain, with holdout, and with
//                  holdout and every record parsed. `of_read` is its rate divided by that of the
//                  plain read, measured just before.
//   Index          BuildIndex() of 4 such shards of 64 MiB with 1 and 2 threads, wall-clock time.
//
// Bytes per second count the file. Items are records.
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/counter_rng.h"
#include "base/crc32c.h"
#include "base/io/atomic_file.h"
#include "base/io/file_source.h"
#include "benchmark/benchmark.h"
#include "records/container/testing/tar_builder.h"
#include "records/container/webdataset.h"
#include "records/dataset/indexer.h"
#include "records/dataset/shard_scan.h"
#include "records/dataset/split.h"
#include "records/format/feature_finder.h"
#include "records/format/testing/shard_builder.h"

namespace penstock {
namespace {

// Returns a record with a random position. The score is like centipawns: mostly two or three
// digits, of either sign.
std::string RandomExample(CounterRng& rng) {
  return ChessExample(rng.Next(), static_cast<int64_t>(rng.Below(2001)) - 1000);
}

std::vector<uint8_t> Chunk(size_t bytes) {
  CounterRng rng(1);
  ShardBuilder shard;
  while (shard.bytes().size() < bytes) shard.Add(RandomExample(rng));
  return shard.bytes();
}

// Files that are made once and stay in the page cache.
class Shards {
 public:
  static const Shards& Get() {
    static const Shards* const shards = new Shards();
    return *shards;
  }
  static void Remove() { std::filesystem::remove_all(Folder()); }

  std::string file(int i) const { return absl::StrCat(Folder(), "/s", i, ".tfrecord"); }
  static std::string Folder() {
    return (std::filesystem::temp_directory_path() / absl::StrCat("penstock-bench-", ::getpid()))
        .string();
  }

 private:
  Shards() {
    std::filesystem::create_directories(Folder());
    const std::vector<uint8_t> chunk = Chunk(1 << 20);
    WriteFile(file(0), chunk, 256);
    for (int i = 1; i <= 4; ++i) WriteFile(file(i), chunk, 64);
  }
  static void WriteFile(const std::string& path, const std::vector<uint8_t>& chunk, int times) {
    absl::StatusOr<AtomicFile> out = AtomicFile::Create(path);
    for (int i = 0; i < times; ++i) {
      if (!out.ok() || !out->Write(chunk).ok()) std::abort();
    }
    if (!out->Commit().ok()) std::abort();
  }
};

void BM_Crc(benchmark::State& state) {
  std::vector<uint8_t> data(static_cast<size_t>(state.range(0)), 7);
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(data));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Crc)->Name("Crc")->Arg(8)->Arg(210)->Arg(256 << 10);

void BM_ParseFrames(benchmark::State& state, Verify verify) {
  const std::vector<uint8_t> data = Chunk(256 << 10);
  std::vector<std::span<const uint8_t>> payloads;
  int64_t records = 0;
  for (auto _ : state) {
    payloads.clear();
    if (!ParseFrames(data, verify, payloads).ok()) std::abort();
    records += static_cast<int64_t>(payloads.size());
  }
  state.SetItemsProcessed(records);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(data.size()));
}
BENCHMARK_CAPTURE(BM_ParseFrames, length, Verify::kLength)->Name("ParseFrames/length");
BENCHMARK_CAPTURE(BM_ParseFrames, payload, Verify::kPayload)->Name("ParseFrames/payload");

// Finds the features of `specs` in the examples again and again.
void FindAll(benchmark::State& state, const std::vector<FeatureUse>& specs,
             const std::vector<std::string>& examples) {
  FeatureFinder finder = *FeatureFinder::Create(specs);
  FoundFeatures found = finder.MakeFound();
  for (auto _ : state) {
    for (const std::string& example : examples) {
      if (!finder.Find(BytesOf(example), found).ok()) {
        std::abort();
      }
      benchmark::DoNotOptimize(found.ints[0]);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(examples.size()));
}

void BM_FindFeatures(benchmark::State& state, bool alike) {
  std::vector<std::string> examples;
  CounterRng rng(1);
  for (uint64_t i = 0; i < 1200; ++i) {
    examples.push_back(RandomExample(rng));
    if (alike) continue;
    ExampleBuilder other;
    other.AddBytes(absl::StrCat("unlike", i), {});
    std::span<const uint8_t> bytes = other.Serialize();
    examples.back().append(bytes.begin(), bytes.end());
  }
  FindAll(state, {{"d", FeatureType::kBytes, 194}, {"s", FeatureType::kInt64, 1}}, examples);
}
BENCHMARK_CAPTURE(BM_FindFeatures, alike, true)->Name("FindFeatures/alike");
BENCHMARK_CAPTURE(BM_FindFeatures, walk, false)->Name("FindFeatures/walk");

void BM_FindNumbers(benchmark::State& state) {
  std::vector<FeatureUse> specs;
  for (int k = 0; k < 40; ++k) specs.push_back({absl::StrCat("c", k), FeatureType::kInt64, 1});
  std::vector<std::string> examples;
  CounterRng rng(1);
  for (int i = 0; i < 3000; ++i) {
    ExampleBuilder builder;
    for (const FeatureUse& use : specs) {
      const auto value = static_cast<int64_t>(rng.Next() >> rng.Below(64));
      builder.AddInt64(use.name, {&value, 1});
    }
    const std::span<const uint8_t> bytes = builder.Serialize();
    examples.emplace_back(bytes.begin(), bytes.end());
  }
  FindAll(state, specs, examples);
}
BENCHMARK(BM_FindNumbers)->Name("FindFeatures/numbers");

// Returns a tar of samples that have 32 MiB together, which is more than the caches hold.
std::string SampleTar(size_t image_bytes) {
  TarBuilder tar;
  for (int i = 0; tar.bytes().size() < size_t{32} << 20; ++i) {
    tar.File(absl::StrCat("train/", i, ".jpg"), std::string(image_bytes, static_cast<char>(i)));
    tar.File(absl::StrCat("train/", i, ".cls"), absl::StrCat(i % 1000, "\n"));
  }
  return tar.End().bytes();
}

void BM_CutSamples(benchmark::State& state) {
  const std::string tar = SampleTar(static_cast<size_t>(state.range(0)));
  const std::unique_ptr<RecordCutter> cutter = NewWebDatasetCutter();
  std::span<const uint8_t> left;
  for (auto _ : state) {
    absl::StatusOr<RecordCutter::Cut> cut = cutter->Next(left, /*at_end=*/true);
    if (cut.ok() && cut->what == RecordCutter::Cut::What::kEnd) {
      left = BytesOf(tar);
      cut = cutter->Next(left, /*at_end=*/true);
    }
    if (!cut.ok() || cut->what != RecordCutter::Cut::What::kRecord) std::abort();
    benchmark::DoNotOptimize(cut->payload.data());
    left = left.subspan(cut->size);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_CutSamples)->Name("CutSamples")->Arg(1000)->Arg(10000)->Arg(110000);

void BM_Copy(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  const std::string bytes(size_t{32} << 20, 'x');
  std::vector<char> out(size);
  size_t at = 0;
  for (auto _ : state) {
    if (at + size > bytes.size()) at = 0;
    std::memcpy(out.data(), bytes.data() + at, size);
    benchmark::DoNotOptimize(out.data());
    at += size;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Copy)->Name("Copy")->Arg(1000)->Arg(10000)->Arg(110000);

void BM_SplitHash(benchmark::State& state) {
  std::vector<uint8_t> board(194, 3);
  for (auto _ : state) {
    benchmark::DoNotOptimize(board.data());
    benchmark::DoNotOptimize(SplitHash(board));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SplitHash)->Name("SplitHash");

// Returns the CPU time of this thread. The benchmarks' own rates use it too, so other work on the
// machine affects neither side of a ratio.
double CpuSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Reads the whole source. Returns bytes per second of this thread's CPU time.
double ReadAll(const FileSource& source) {
  std::vector<uint8_t> buffer(512 << 10);
  const double start = CpuSeconds();
  for (uint64_t offset = 0; offset < source.size(); offset += buffer.size()) {
    std::span<uint8_t> out(buffer);
    out = out.first(std::min<uint64_t>(out.size(), source.size() - offset));
    if (!source.ReadAt(offset, out).ok()) std::abort();
    benchmark::DoNotOptimize(buffer.data());
  }
  return static_cast<double>(source.size()) / (CpuSeconds() - start);
}

void BM_Read(benchmark::State& state) {
  auto source = *FileSource::Open(Shards::Get().file(0));
  for (auto _ : state) ReadAll(*source);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(source->size()));
}
BENCHMARK(BM_Read)->Name("Read")->Unit(benchmark::kMillisecond);

void BM_Scan(benchmark::State& state, bool holdout, bool parse) {
  auto source = *FileSource::Open(Shards::Get().file(0));
  ScanOptions options;
  if (holdout) options.holdout = {"d", 1u << 28};
  options.parse_records = parse;
  const double ceiling = std::max(ReadAll(*source), ReadAll(*source));
  const double start = CpuSeconds();
  for (auto _ : state) {
    if (!ScanShard(*source, options).ok()) std::abort();
  }
  const auto bytes = static_cast<double>(state.iterations()) * static_cast<double>(source->size());
  state.counters["of_read"] = bytes / (CpuSeconds() - start) / ceiling;
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK_CAPTURE(BM_Scan, plain, false, false)->Name("Scan")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scan, holdout, true, false)
    ->Name("Scan/holdout")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Scan, verify, true, true)
    ->Name("Scan/holdout+verify")
    ->Unit(benchmark::kMillisecond);

void BM_Index(benchmark::State& state) {
  const Shards& shards = Shards::Get();
  IndexOptions options;
  options.output = Shards::Folder() + "/manifest.pb";
  options.holdout = HoldoutInfo{"d", 1u << 28};
  options.threads = static_cast<int>(state.range(0));
  uint64_t bytes = 0;
  for (auto _ : state) {
    absl::StatusOr<IndexResult> result =
        BuildIndex({shards.file(1), shards.file(2), shards.file(3), shards.file(4)}, options);
    if (!result.ok()) std::abort();
    bytes += result->read_bytes;
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(BM_Index)->Name("Index")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  penstock::Shards::Remove();
  benchmark::Shutdown();
}
