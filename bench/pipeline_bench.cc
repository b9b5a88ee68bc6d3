// Measures the way from disk to batch, end to end, beside the machine's ceilings: shuffled batches
// through `local:`, through one penstock-server on loopback, and through its shared memory.
//
//   pipeline_bench [--records N] [--batch ROWS] [--seconds S] [--dtypes i8,packed,f32]
//                  [--cases engine,local,raw,grpc,shm] [--connections N] [--checksums]
//                  [--json FILE]
//
// Ceilings of the same run:
//   - memory write, memory copy, plain pread of the shards from the page cache
//   - for each dtype, the engine that reads whole windows and drops the parts, on one thread and on
//     all cores
//   - for each dtype, the engine that reads in the plan's order and decodes to memory, on all cores
//   - for each dtype, a raw gRPC stream of 1 MiB messages
// Ratios:
//   local.of_engine_to_memory  positions/s over those of the engine that decodes to memory
//   grpc.of_raw_stream         bytes/s over those of the raw gRPC stream
//   shared_memory.of_grpc      positions/s over those of the same server without shared memory
// Server and client share the machine's cores. The program makes its own data: random records like
// those of chess. The first epoch reads them from the page cache; later epochs find them in the
// chunk store.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "base/flags/command_line.h"
#include "base/flags/number_flags.h"
#include "base/io/file_source.h"
#include "base/process/keep_freed_memory.h"
#include "base/status.h"
#include "base/streaming_copy.h"
#include "bench/cpu_seconds.h"
#include "bench/engine_rate.h"
#include "bench/raw_grpc_stream.h"
#include "bench/report.h"
#include "bench/server_process.h"
#include "client/fetch/fetch_controller.h"
#include "client/loader/loader.h"
#include "nlohmann/json.hpp"
#include "records/dataset/indexer.h"
#include "records/decode/spec.h"
#include "records/format/example_writer.h"
#include "records/format/tfrecord.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using nlohmann::literals::operator""_json_pointer;

struct Options {
  uint64_t records = 1'000'000;
  uint64_t batch = 512;
  double seconds = 5;
  uint32_t connections = 0;
  bool checksums = false;
  std::vector<std::string> dtypes = {"i8", "packed", "f32"};
  std::vector<std::string> cases = {"engine", "local", "raw", "grpc", "shm"};
  std::string json_file;
};

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
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

// Returns the best rate of five runs, in bytes per second.
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
  // This is larger than any cache.
  constexpr size_t kBytes = size_t{512} << 20;
  std::vector<uint8_t> from(kBytes, 1);
  std::vector<uint8_t> to(kBytes, 2);
  json rates;
  rates["memory_write"] = BestRate(kBytes, [&] { std::memset(to.data(), to[7] + 1, kBytes); });
  rates["memory_copy"] = BestRate(kBytes, [&] { std::memcpy(to.data(), from.data(), kBytes); });
  rates["memory_copy_streaming"] = BestRate(kBytes, [&] {
    StreamingCopy(from, to);
    StreamingFence();
  });
  PENSTOCK_ASSIGN_OR_RETURN(rates["pread"], PreadRate(folder));
  return rates;
}

double Percentile(std::vector<double>& values, double fraction) {
  auto place = values.begin() + static_cast<ptrdiff_t>(fraction * (values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// Takes batches for options.seconds, after one second of warm-up. `server` may be null.
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
  const double client_cpu = OwnCpuSeconds() - cpu;
  const double millions = static_cast<double>(rows) / 1e6;
  json result = {{"positions_per_second", static_cast<double>(rows) / seconds},
                 {"bytes_per_second", static_cast<double>(bytes) / seconds},
                 {"client_cpu_seconds_per_million", client_cpu / millions},
                 {"client_cpu_seconds_per_gb", client_cpu / static_cast<double>(bytes) * 1e9},
                 {"batch_wait_p50_us", Percentile(waits, 0.5) * 1e6},
                 {"batch_wait_p99_us", Percentile(waits, 0.99) * 1e6}};
  if (server != nullptr) {
    result["server_cpu_seconds_per_million"] = (server->CpuSeconds() - server_cpu) / millions;
  }
  return result;
}

// The data set and the measurements on it.
class Pipeline {
 public:
  Pipeline(const std::string& folder, const Options& options, Manifest manifest)
      : folder_(folder),
        options_(options),
        manifest_(std::make_shared<const Manifest>(std::move(manifest))) {}

  absl::StatusOr<json> Engine(WireDtype dtype, uint32_t threads, bool to_memory) const {
    EngineRateOptions engine{
        .dtype = dtype, .seconds = options_.seconds, .threads = threads, .to_memory = to_memory};
    PENSTOCK_ASSIGN_OR_RETURN(engine.spec, LoadSpec("chess"));
    engine.plan.split = Split::kAll;
    if (to_memory) {
      engine.side_by_side = engine.plan.lanes;
      engine.request_bytes = FetchOptions().fetch_bytes;
    }
    PENSTOCK_ASSIGN_OR_RETURN(EngineRate rate, MeasureEngine(*manifest_, engine));
    return json{{"positions_per_second", rate.positions_per_second},
                {"bytes_per_second", rate.bytes_per_second},
                {"cpu_seconds_per_million", rate.cpu_seconds_per_million}};
  }

  absl::StatusOr<json> Local(WireDtype dtype) const { return Load(dtype, "local:", nullptr); }

  absl::StatusOr<json> Served(WireDtype dtype, bool shared_memory) const {
    std::vector<std::string> arguments;
    if (shared_memory) arguments = {"--shm-socket", folder_ + "/door"};
    PENSTOCK_ASSIGN_OR_RETURN(auto server, ServerProcess::Start(folder_, arguments));
    return Load(dtype, server->address(), server.get());
  }

 private:
  absl::StatusOr<json> Load(WireDtype dtype, const std::string& servers,
                            const ServerProcess* server) const {
    LoaderOptions loading;
    loading.manifest = manifest_;
    loading.servers = servers;
    PENSTOCK_ASSIGN_OR_RETURN(loading.spec, LoadSpec("chess"));
    loading.dtype = dtype;
    loading.plan.split = Split::kAll;
    loading.global_batch_size = options_.batch;
    loading.network.connections = options_.connections;
    loading.checksums = options_.checksums;
    loading.epochs = 0;
    PENSTOCK_ASSIGN_OR_RETURN(auto loader, Loader::Open(std::move(loading)));
    PENSTOCK_ASSIGN_OR_RETURN(json result, Stream(*loader, options_, server));
    const std::string& shared = loader->stats().servers[0].shared_memory;
    if (!shared.empty()) result["shared_memory"] = shared;
    return result;
  }

  const std::string folder_;
  const Options& options_;
  const std::shared_ptr<const Manifest> manifest_;
};

// Returns the number of bytes that take about `seconds` on a machine that moves 4 GB/s.
uint64_t RawBytes(double seconds) { return static_cast<uint64_t>(seconds * 4e9); }

// Adds `above` over `below` if both were measured.
void AddRatio(json& report, const char* name, json::json_pointer above, json::json_pointer below) {
  if (!report.contains(above) || !report.contains(below)) return;
  report[above.parent_pointer()][name] = report[above].get<double>() / report[below].get<double>();
}

// Measures all cases of one dtype in a row, so that both sides of a ratio are from the same minute.
absl::StatusOr<json> MeasureDtype(const Pipeline& pipeline, WireDtype dtype,
                                  const Options& options) {
  json report;
  auto wanted = [&options](const char* name) {
    return std::find(options.cases.begin(), options.cases.end(), name) != options.cases.end();
  };
  if (wanted("engine")) {
    PENSTOCK_ASSIGN_OR_RETURN(report["engine_one_thread"], pipeline.Engine(dtype, 1, false));
    PENSTOCK_ASSIGN_OR_RETURN(report["engine"], pipeline.Engine(dtype, 0, false));
    PENSTOCK_ASSIGN_OR_RETURN(report["engine_to_memory"], pipeline.Engine(dtype, 0, true));
  }
  if (wanted("local")) {
    PENSTOCK_ASSIGN_OR_RETURN(report["local"], pipeline.Local(dtype));
  }
  if (wanted("raw")) {
    const NetworkOptions network{.connections = options.connections};
    PENSTOCK_ASSIGN_OR_RETURN(double raw,
                              MeasureRawGrpcStream({.total_bytes = RawBytes(options.seconds),
                                                    .connections = network.most_connections()}));
    report["raw_grpc_stream"] = {{"bytes_per_second", raw}};
  }
  if (wanted("grpc")) {
    PENSTOCK_ASSIGN_OR_RETURN(report["grpc"], pipeline.Served(dtype, false));
  }
  if (wanted("shm")) {
    PENSTOCK_ASSIGN_OR_RETURN(report["shared_memory"], pipeline.Served(dtype, true));
  }
  AddRatio(report, "of_engine_to_memory", "/local/positions_per_second"_json_pointer,
           "/engine_to_memory/positions_per_second"_json_pointer);
  AddRatio(report, "of_raw_stream", "/grpc/bytes_per_second"_json_pointer,
           "/raw_grpc_stream/bytes_per_second"_json_pointer);
  AddRatio(report, "of_grpc", "/shared_memory/positions_per_second"_json_pointer,
           "/grpc/positions_per_second"_json_pointer);
  return report;
}

absl::StatusOr<json> Run(const Options& options) {
  TempFolder folder;
  WriteShards(folder.path(), options.records);
  IndexOptions index;
  index.output = folder.path() + "/manifest.pb";
  Clock::time_point begin = Clock::now();
  PENSTOCK_ASSIGN_OR_RETURN(IndexResult indexed, BuildIndex({folder.path()}, index));
  json report = {{"records", options.records},
                 {"batch", options.batch},
                 {"connections", options.connections},
                 {"checksums", options.checksums}};
  report["index_bytes_per_second"] = static_cast<double>(indexed.read_bytes) / SecondsSince(begin);
  PENSTOCK_ASSIGN_OR_RETURN(report["ceilings"], Ceilings(folder.path()));
  PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Load(index.output));
  const Pipeline pipeline(folder.path(), options, std::move(manifest));
  for (const std::string& name : options.dtypes) {
    PENSTOCK_ASSIGN_OR_RETURN(WireDtype dtype, ParseWireDtype(name));
    PENSTOCK_ASSIGN_OR_RETURN(report[name], MeasureDtype(pipeline, dtype, options));
  }
  return report;
}

int Main(int argc, char** argv) {
  KeepFreedMemory();
  Options options;
  CLI::App app("Disk to batch, end to end, beside the machine's ceilings.", "pipeline_bench");
  app.option_defaults()->always_capture_default();
  app.add_option("--records", options.records, "Records to make, 217 bytes each");
  app.add_option("--batch", options.batch, "Rows of a batch");
  app.add_option("--seconds", options.seconds, "Length of each measurement")->check(Number(0.001));
  app.add_option("--connections", options.connections,
                 "Connections to the server; 0: a Loader's default");
  app.add_flag("--checksums", options.checksums, "Check every part with a checksum");
  app.add_option("--dtypes", options.dtypes, "Wire dtypes to measure")
      ->delimiter(',')
      ->check(CLI::IsMember({"packed", "i8", "bf16", "f32", "f64"}));
  app.add_option("--cases", options.cases, "Cases to measure for each dtype")
      ->delimiter(',')
      ->check(CLI::IsMember({"engine", "local", "raw", "grpc", "shm"}));
  app.add_option("--json", options.json_file, "Write the figures to this file too");
  app.footer("Example:\n  pipeline_bench --records 200000 --seconds 2 --json out.json");
  if (const auto code = ParseCommandLine(app, "pipeline_bench", argc, argv)) return *code;

  return PrintReport("pipeline_bench", Run(options), options.json_file);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
