// Measures the cost of more jobs on the same plan: the CPU time of 8 jobs with 1 to 4 ranks each,
// divided by that of one job in the same run, with and without the strip cache.
//
//   strip_cache_bench [--dtypes packed,i8,f32] [--cases lanes,strips,server] [--runs N]
//                     [--chunks N] [--steps N] [--threads N] [--json FILE]
//
//   lanes, strips   the engine alone (bench/shared_jobs.h) with data from the page cache: reading,
//                   checking and packing chunks, ordering, decoding, and a part for each request
//   server          a penstock-server process and 20 Loaders over gRPC on loopback: sending too
//
// of_one is the cost of 8 jobs divided by that of one. of_one_alone is the same without the strip
// cache. one_job_of_ranks_of_alone is the cost of one job of --max-ranks ranks with the cache,
// divided by its cost without. The cache saves nothing there, so this is its cost. Figures are
// medians of the runs, with the smallest and the largest.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/flags/command_line.h"
#include "base/flags/number_flags.h"
#include "base/status.h"
#include "bench/report.h"
#include "bench/shared_jobs.h"
#include "bench/shared_service.h"
#include "nlohmann/json.hpp"
#include "records/dataset/indexer.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr uint32_t kRecordsPerChunk = (256 << 10) / 244;

struct Options {
  std::vector<std::string> dtypes = {"packed", "i8", "f32"};
  std::vector<std::string> cases = {"lanes", "strips", "server"};
  int runs = 5;
  size_t chunks = 1024;
  uint64_t steps = 400;
  uint64_t batch = 2048;
  uint32_t threads = 2;
  uint32_t max_ranks = 4;
  std::string strip_cache = "256MiB";
  std::string json_file;
};

// The values of each name, one for each run, and their medians.
class Samples {
 public:
  void Add(const std::string& name, double value) { values_[name].push_back(value); }
  json Medians() const {
    json result;
    for (const auto& [name, values] : values_) {
      std::vector<double> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      result[name] = {
          {"median", sorted[sorted.size() / 2]}, {"min", sorted.front()}, {"max", sorted.back()}};
    }
    return result;
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

class Measurement {
 public:
  static absl::StatusOr<std::unique_ptr<Measurement>> Create(const Options& options) {
    std::unique_ptr<Measurement> made(new Measurement(options));
    IndexOptions index;
    index.output = made->manifest_path_;
    PENSTOCK_RETURN_IF_ERROR(BuildIndex({made->folder_.path()}, index).status());
    PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Load(made->manifest_path_));
    made->manifest_ = std::make_shared<const Manifest>(std::move(manifest));
    return made;
  }

  absl::StatusOr<json> Run(const std::string& name, WireDtype dtype) const {
    Samples samples;
    for (int run = 0; run < options_.runs; ++run) {
      PENSTOCK_RETURN_IF_ERROR(name == "server" ? RunServer(dtype, samples)
                                                : RunEngine(name == "strips", dtype, samples));
    }
    return samples.Medians();
  }

 private:
  explicit Measurement(const Options& options)
      : options_(options),
        data_(folder_.path(), {.shards = 4,
                               .chunks_per_shard = options.chunks / 4,
                               .records_per_chunk = kRecordsPerChunk}) {}

  absl::Status RunEngine(bool strips, WireDtype dtype, Samples& samples) const {
    const auto measure = [&](uint32_t jobs, uint64_t strip_cache, uint32_t first_job = 0) {
      return MeasureSharedJobs(folder_.path(), data_,
                               {.jobs = jobs,
                                .first_job = first_job,
                                .max_ranks = options_.max_ranks,
                                .dtype = dtype,
                                .strips = strips,
                                .strip_cache = strip_cache,
                                .threads = options_.threads});
    };
    constexpr uint64_t kCache = uint64_t{64} << 20;
    PENSTOCK_ASSIGN_OR_RETURN(const SharedJobsCost one, measure(1, kCache));
    PENSTOCK_ASSIGN_OR_RETURN(const SharedJobsCost eight, measure(8, kCache));
    PENSTOCK_ASSIGN_OR_RETURN(const SharedJobsCost alone, measure(8, 0));
    PENSTOCK_ASSIGN_OR_RETURN(const SharedJobsCost ranks,
                              measure(1, kCache, options_.max_ranks - 1));
    PENSTOCK_ASSIGN_OR_RETURN(const SharedJobsCost plain, measure(1, 0, options_.max_ranks - 1));
    samples.Add("one_job_of_ranks_of_alone", ranks.cpu_ns_per_row / plain.cpu_ns_per_row);
    samples.Add("one_job_ns_per_row", one.cpu_ns_per_row);
    samples.Add("eight_jobs_ns_per_row", eight.cpu_ns_per_row);
    samples.Add("of_one", eight.cpu_ns_per_row / one.cpu_ns_per_row);
    samples.Add("of_one_alone", alone.cpu_ns_per_row / one.cpu_ns_per_row);
    samples.Add("rows_decoded_of_one", eight.decoded / one.decoded);
    samples.Add("kept_mib", eight.kept_bytes / (1 << 20));
    return absl::OkStatus();
  }

  absl::Status RunServer(WireDtype dtype, Samples& samples) const {
    const auto measure = [&](uint32_t jobs, const std::string& strip_cache) {
      return MeasureSharedService(folder_.path(), manifest_,
                                  {.jobs = jobs,
                                   .max_ranks = options_.max_ranks,
                                   .dtype = dtype,
                                   .batch = options_.batch,
                                   .steps = options_.steps,
                                   .strip_cache = strip_cache});
    };
    PENSTOCK_ASSIGN_OR_RETURN(const SharedServiceCost one, measure(1, options_.strip_cache));
    PENSTOCK_ASSIGN_OR_RETURN(const SharedServiceCost eight, measure(8, options_.strip_cache));
    PENSTOCK_ASSIGN_OR_RETURN(const SharedServiceCost alone, measure(8, "0"));
    samples.Add("one_job_ns_per_row", one.server_cpu_ns_per_row);
    samples.Add("eight_jobs_ns_per_row", eight.server_cpu_ns_per_row);
    samples.Add("of_one", eight.server_cpu_ns_per_row / one.server_cpu_ns_per_row);
    samples.Add("rows_decoded_of_one", eight.decoded / one.decoded);
    samples.Add("kib_per_part", eight.bytes_per_part / 1024);
    samples.Add("kib_per_part_alone", alone.bytes_per_part / 1024);
    samples.Add("of_one_alone", alone.server_cpu_ns_per_row / one.server_cpu_ns_per_row);
    return absl::OkStatus();
  }

  const Options& options_;
  TempFolder folder_;
  const ChessData data_;
  const std::string manifest_path_ = folder_.path() + "/manifest.pb";
  std::shared_ptr<const Manifest> manifest_;
};

absl::StatusOr<json> Run(const Options& options) {
  PENSTOCK_ASSIGN_OR_RETURN(auto measurement, Measurement::Create(options));
  json report = {{"runs", options.runs},
                 {"chunks", options.chunks},
                 {"threads", options.threads},
                 {"max_ranks", options.max_ranks},
                 {"batch", options.batch}};
  for (const std::string& dtype_name : options.dtypes) {
    PENSTOCK_ASSIGN_OR_RETURN(const WireDtype dtype, ParseWireDtype(dtype_name));
    for (const std::string& name : options.cases) {
      PENSTOCK_ASSIGN_OR_RETURN(report[dtype_name][name], measurement->Run(name, dtype));
    }
  }
  return report;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The CPU time of 8 jobs on the same plan over that of one job.",
               "strip_cache_bench");
  app.option_defaults()->always_capture_default();
  app.add_option("--dtypes", options.dtypes, "Wire dtypes to measure")
      ->delimiter(',')
      ->check(CLI::IsMember({"packed", "i8", "bf16", "f32", "f64"}));
  app.add_option("--cases", options.cases, "Cases to measure for each dtype")
      ->delimiter(',')
      ->check(CLI::IsMember({"lanes", "strips", "server"}));
  app.add_option("--runs", options.runs, "Runs of each measurement")->check(WholeNumber(1));
  app.add_option("--chunks", options.chunks, "Chunks of 256 KiB to make")
      ->check(CLI::Range(64, 65536));
  app.add_option("--steps", options.steps, "Steps of each job, in the case server")
      ->check(WholeNumber(1));
  app.add_option("--batch", options.batch, "Rows of a job's step, in the case server")
      ->check(WholeNumber(1));
  app.add_option("--max-ranks", options.max_ranks, "Largest number of ranks of a job")
      ->check(CLI::Range(1, 64));
  app.add_option("--strip-cache", options.strip_cache, "Strip cache of the server, e.g. 256MiB");
  app.add_option("--threads", options.threads, "Threads of the engine")->check(CLI::Range(1, 1024));
  app.add_option("--json", options.json_file, "Write the figures to this file too");
  app.footer("Example:\n  strip_cache_bench --dtypes i8 --cases lanes --runs 1 --json out.json");
  if (const auto code = ParseCommandLine(app, "strip_cache_bench", argc, argv)) return *code;

  return PrintReport("strip_cache_bench", Run(options), options.json_file);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
