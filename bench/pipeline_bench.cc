// Disk to batch, end to end, beside what the machine can do at all: shuffled batches through
// `local:` and through one penstock-server on loopback, in the wire dtypes i8, packed and f32.
//
//   pipeline_bench [--records N] [--batch ROWS] [--seconds S] [--json FILE]
//
// Ceilings in the same run: memory write, memory copy, plain pread of the shards (page cache), a
// raw gRPC stream of 1 MiB messages. of_ceiling is bytes per second over the raw gRPC stream's for
// a server, over memory copy's for local:. Makes its own data: random chess-shaped records. The
// first epoch reads them from the page cache, later ones find them in the chunk store.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "bench/raw_grpc_stream.h"
#include "bench/server_process.h"
#include "client/loader/loader.h"
#include "nlohmann/json.hpp"
#include "records/base/counter_rng.h"
#include "records/base/status.h"
#include "records/dataset/indexer.h"
#include "records/decode/spec.h"
#include "records/format/example_writer.h"
#include "records/format/tfrecord.h"
#include "records/io/file_source.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

struct Options {
  uint64_t records = 1'000'000;
  uint64_t batch = 512;
  double seconds = 5;
  std::string json_file;
};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

constexpr int kShards = 4;

void WriteShards(const std::string& folder, uint64_t records) {
  CounterRng rng(1);
  for (int shard = 0; shard < kShards; ++shard) {
    std::ofstream file(absl::StrCat(folder, "/shard-", shard, ".tfrecord"), std::ios::binary);
    for (uint64_t r = 0; r < records / kShards; ++r) {
      std::vector<uint8_t> d(194);
      for (uint8_t& byte : d) byte = static_cast<uint8_t>(rng.Next() & rng.Next());
      auto s = static_cast<int64_t>(rng.Below(2000)) + 1;
      ExampleBuilder example;
      example.AddBytes("d", d);
      example.AddInt64("s", {&s, 1});
      std::vector<uint8_t> frame;
      AppendFrame(example.Serialize(), frame);
      file.write(reinterpret_cast<const char*>(frame.data()),
                 static_cast<std::streamsize>(frame.size()));
    }
  }
}

// The best of five, in bytes per second.
template <typename Work>
double BestRate(size_t bytes, Work work) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    Clock::time_point begin = Clock::now();
    work();
    best = std::max(best, static_cast<double>(bytes) / SecondsSince(begin));
  }
  return best;
}

absl::StatusOr<double> PreadRate(const std::string& folder) {
  std::vector<uint8_t> chunk(size_t{256} << 10);
  uint64_t bytes = 0;
  Clock::time_point begin = Clock::now();
  for (int shard = 0; shard < kShards; ++shard) {
    PENSTOCK_ASSIGN_OR_RETURN(
        auto file, FileSource::Open(absl::StrCat(folder, "/shard-", shard, ".tfrecord")));
    for (uint64_t at = 0; at < file->size(); at += chunk.size()) {
      size_t size = std::min<uint64_t>(chunk.size(), file->size() - at);
      PENSTOCK_RETURN_IF_ERROR(file->ReadAt(at, {chunk.data(), size}));
      bytes += size;
    }
  }
  return static_cast<double>(bytes) / SecondsSince(begin);
}

absl::StatusOr<json> Ceilings(const std::string& folder) {
  // Larger than any cache.
  constexpr size_t kBytes = size_t{512} << 20;
  std::vector<uint8_t> from(kBytes, 1);
  std::vector<uint8_t> to(kBytes, 2);
  json rates;
  rates["memory_write"] = BestRate(kBytes, [&] { std::memset(to.data(), to[7] + 1, kBytes); });
  rates["memory_copy"] = BestRate(kBytes, [&] { std::memcpy(to.data(), from.data(), kBytes); });
  PENSTOCK_ASSIGN_OR_RETURN(rates["pread"], PreadRate(folder));
  PENSTOCK_ASSIGN_OR_RETURN(rates["raw_grpc_stream"], MeasureRawGrpcStream({}));
  return rates;
}

double Percentile(std::vector<double>& values, double fraction) {
  auto place = values.begin() + static_cast<ptrdiff_t>(fraction * (values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// Takes batches for options.seconds after the first second. `server` may be null.
absl::StatusOr<json> Stream(Loader& loader, const Options& options, const ServerProcess* server) {
  Batch batch;
  for (Clock::time_point start = Clock::now(); SecondsSince(start) < 1;) {
    PENSTOCK_RETURN_IF_ERROR(loader.Next(batch).status());
  }
  const double cpu = OwnCpuSeconds();
  const double server_cpu = server == nullptr ? 0 : server->CpuSeconds();
  uint64_t rows = 0;
  uint64_t bytes = 0;
  std::vector<double> waits;
  const Clock::time_point start = Clock::now();
  while (SecondsSince(start) < options.seconds) {
    const Clock::time_point asked = Clock::now();
    PENSTOCK_RETURN_IF_ERROR(loader.Next(batch).status());
    waits.push_back(SecondsSince(asked));
    rows += batch.rows();
    for (const TensorView& tensor : batch.tensors()) bytes += tensor.bytes.size();
  }
  const double seconds = SecondsSince(start);
  const double millions = static_cast<double>(rows) / 1e6;
  json result = {{"positions_per_second", static_cast<double>(rows) / seconds},
                 {"bytes_per_second", static_cast<double>(bytes) / seconds},
                 {"client_cpu_seconds_per_million", (OwnCpuSeconds() - cpu) / millions},
                 {"batch_wait_p50_us", Percentile(waits, 0.5) * 1e6},
                 {"batch_wait_p99_us", Percentile(waits, 0.99) * 1e6}};
  if (server != nullptr) {
    result["server_cpu_seconds_per_million"] = (server->CpuSeconds() - server_cpu) / millions;
  }
  return result;
}

absl::StatusOr<json> Measure(std::shared_ptr<const Manifest> manifest, WireDtype dtype, bool local,
                             const std::string& folder, const Options& options) {
  std::unique_ptr<ServerProcess> server;
  if (!local) {
    PENSTOCK_ASSIGN_OR_RETURN(server, ServerProcess::Start(folder));
  }
  LoaderOptions loading;
  loading.manifest = std::move(manifest);
  loading.servers = local ? "local:" : server->address();
  PENSTOCK_ASSIGN_OR_RETURN(loading.spec, LoadSpec("chess"));
  loading.dtype = dtype;
  loading.plan.split = Split::kAll;
  loading.global_batch_size = options.batch;
  loading.epochs = 0;
  PENSTOCK_ASSIGN_OR_RETURN(auto loader, Loader::Open(std::move(loading)));
  return Stream(*loader, options, server.get());
}

absl::StatusOr<json> Run(const Options& options) {
  TempFolder folder;
  WriteShards(folder.path(), options.records);
  IndexOptions index;
  index.output = folder.path() + "/manifest.pb";
  Clock::time_point begin = Clock::now();
  PENSTOCK_ASSIGN_OR_RETURN(IndexResult indexed, BuildIndex({folder.path()}, index));
  json report = {{"records", options.records}, {"batch", options.batch}};
  report["index_bytes_per_second"] = static_cast<double>(indexed.read_bytes) / SecondsSince(begin);
  PENSTOCK_ASSIGN_OR_RETURN(report["ceilings"], Ceilings(folder.path()));
  PENSTOCK_ASSIGN_OR_RETURN(Manifest loaded, Manifest::Load(index.output));
  auto manifest = std::make_shared<const Manifest>(std::move(loaded));
  for (bool local : {true, false}) {
    const json& ceiling = report["ceilings"][local ? "memory_copy" : "raw_grpc_stream"];
    for (WireDtype dtype : {WireDtype::kI8, WireDtype::kPacked, WireDtype::kF32}) {
      PENSTOCK_ASSIGN_OR_RETURN(json result,
                                Measure(manifest, dtype, local, folder.path(), options));
      result["of_ceiling"] = result["bytes_per_second"].get<double>() / ceiling.get<double>();
      report[local ? "local" : "grpc"][std::string(WireDtypeName(dtype))] = result;
    }
  }
  return report;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Disk to batch, end to end, beside the machine's ceilings.", "pipeline_bench");
  app.option_defaults()->always_capture_default();
  app.add_option("--records", options.records, "Records to make, 217 bytes each");
  app.add_option("--batch", options.batch, "Rows of a batch");
  app.add_option("--seconds", options.seconds, "Of each measurement")->check(CLI::PositiveNumber);
  app.add_option("--json", options.json_file, "File for the figures; they are printed anyway");
  app.footer("Example:\n  pipeline_bench --records 200000 --seconds 2 --json out.json");
  CLI11_PARSE(app, argc, argv);

  absl::StatusOr<json> report = Run(options);
  if (!report.ok()) {
    std::fprintf(stderr, "pipeline_bench: %s\n", report.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", report->dump(2).c_str());
  if (options.json_file.empty()) return 0;
  std::ofstream file(options.json_file);
  file << report->dump(2) << '\n';
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "pipeline_bench: %s cannot be written\n", options.json_file.c_str());
  return 1;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
