// Measures how long a new client of a very large data set waits for its first batch. Prints JSON.
//
//   cold_start [--records N] [--shards N] [--runs N] [--folder DIR] [--json FILE]
//
// Makes a manifest of 10^9 records in 10,000 shards. Only each lane's first windows have real bytes
// (about 0.4 GB, removed at the end unless --folder keeps them). Each run:
//   - starts a penstock-server, whose memory is empty
//   - starts a client process that loads the manifest, opens a Loader with the default look-ahead
//     and takes one batch
//   - starts a second client while the server is warm
//   - starts a second server and times `penstock stream --steps 1` from start to exit
// Files are in the page cache. Times count from the start of the client process. Memory is the
// largest resident size; that of "make" is for building and saving the manifest.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/flags/command_line.h"
#include "base/flags/number_flags.h"
#include "base/status.h"
#include "bench/big_dataset.h"
#include "bench/server_process.h"
#include "client/loader/loader.h"
#include "nlohmann/json.hpp"
#include "records/decode/spec.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

struct Options {
  uint64_t records = 1'000'000'000;
  uint32_t shards = 10000;
  uint32_t runs = 5;
  std::string folder;
  std::string json_file;
};

absl::StatusOr<int> MaxRssMib(pid_t pid) {
  int status = 0;
  rusage usage;
  wait4(pid, &status, 0, &usage);
  if (status != 0) return absl::InternalError(absl::StrCat("a client ended with ", status));
  return static_cast<int>(usage.ru_maxrss / 1024);
}

// Runs `work` in a process of its own and adds its "max_rss_mib". Call it before any thread starts.
absl::StatusOr<ordered_json> InProcess(const std::function<absl::StatusOr<ordered_json>()>& work) {
  int fds[2];
  if (pipe(fds) != 0) return ErrnoToStatus(errno, "pipe");
  const pid_t pid = fork();
  if (pid < 0) return ErrnoToStatus(errno, "fork");
  if (pid == 0) {
    absl::StatusOr<ordered_json> result = work();
    const std::string text = result.ok() ? result->dump() : result.status().ToString();
    _exit(write(fds[1], text.data(), text.size()) > 0 && result.ok() ? 0 : 1);
  }
  close(fds[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fds[0], buffer, sizeof buffer)) > 0;) text.append(buffer, n);
  close(fds[0]);
  const absl::StatusOr<int> max_rss_mib = MaxRssMib(pid);
  if (!max_rss_mib.ok()) return Annotate(max_rss_mib.status(), text);
  ordered_json result = ordered_json::parse(text);
  result["max_rss_mib"] = *max_rss_mib;
  return result;
}

absl::StatusOr<ordered_json> StreamOneStep(const std::string& folder, const std::string& address) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "penstock";
  const std::string manifest = folder + "/manifest.pb";
  const absl::Time start = absl::Now();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoToStatus(errno, "fork");
  if (pid == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
    execl(program.c_str(), "penstock", "stream", manifest.c_str(), "--servers", address.c_str(),
          "--steps", "1", nullptr);
    _exit(127);
  }
  PENSTOCK_ASSIGN_OR_RETURN(const int max_rss_mib, MaxRssMib(pid));
  return ordered_json{{"command_ms", absl::ToDoubleMilliseconds(absl::Now() - start)},
                      {"max_rss_mib", max_rss_mib}};
}

absl::StatusOr<ordered_json> FirstBatch(const std::string& folder, const std::string& address,
                                        absl::Time start) {
  const auto since = [start] { return absl::ToDoubleMilliseconds(absl::Now() - start); };
  LoaderOptions options;
  PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Load(folder + "/manifest.pb"));
  const double loaded = since();
  options.manifest = std::make_shared<const Manifest>(std::move(manifest));
  options.servers = address;
  PENSTOCK_ASSIGN_OR_RETURN(options.spec, LoadSpec("chess"));
  options.plan.split = Split::kAll;
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::Open(std::move(options)));
  const double opened = since();
  Batch batch;
  PENSTOCK_RETURN_IF_ERROR(loader->Next(batch).status());
  return ordered_json{{"manifest_ms", loaded},
                      {"open_ms", opened - loaded},
                      {"wait_ms", since() - opened},
                      {"first_batch_ms", since()}};
}

absl::StatusOr<ordered_json> RunOnce(const std::string& folder) {
  PENSTOCK_ASSIGN_OR_RETURN(auto server, ServerProcess::Start(folder));
  const auto client = [&] {
    const absl::Time start = absl::Now();
    return InProcess([&, start] { return FirstBatch(folder, server->address(), start); });
  };
  PENSTOCK_ASSIGN_OR_RETURN(ordered_json cold, client());
  PENSTOCK_ASSIGN_OR_RETURN(ordered_json warm, client());
  PENSTOCK_ASSIGN_OR_RETURN(auto second, ServerProcess::Start(folder));
  PENSTOCK_ASSIGN_OR_RETURN(ordered_json command, StreamOneStep(folder, second->address()));
  return ordered_json{{"cold_server", cold}, {"warm_server", warm}, {"stream_command", command}};
}

double Median(const ordered_json& runs, const char* kind, const char* what) {
  std::vector<double> values;
  for (const ordered_json& run : runs) values.push_back(run[kind][what]);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

absl::StatusOr<ordered_json> Run(const Options& options, const std::string& folder) {
  BigDatasetOptions dataset;
  dataset.shards = options.shards;
  const uint64_t per_shard = uint64_t{options.shards} * dataset.records_per_chunk;
  dataset.chunks_per_shard = static_cast<uint32_t>((options.records + per_shard - 1) / per_shard);
  PENSTOCK_ASSIGN_OR_RETURN(ordered_json made, InProcess([&]() -> absl::StatusOr<ordered_json> {
                              PENSTOCK_ASSIGN_OR_RETURN(
                                  const uint64_t bytes,
                                  MakeBigDataset(folder, dataset, {.split = Split::kAll}));
                              return ordered_json{{"shard_bytes_written", bytes}};
                            }));
  ordered_json result = {{"records", per_shard * dataset.chunks_per_shard},
                         {"shards", dataset.shards},
                         {"chunks", uint64_t{dataset.shards} * dataset.chunks_per_shard},
                         {"manifest_bytes", std::filesystem::file_size(folder + "/manifest.pb")},
                         {"make", made}};
  for (uint32_t i = 0; i < options.runs; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(ordered_json run, RunOnce(folder));
    result["runs"].push_back(run);
  }
  result["median_first_batch_ms"] = {
      {"cold_server", Median(result["runs"], "cold_server", "first_batch_ms")},
      {"warm_server", Median(result["runs"], "warm_server", "first_batch_ms")}};
  result["median_stream_command_ms"] = Median(result["runs"], "stream_command", "command_ms");
  return result;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("How long a new client of a very large data set waits for its first batch.");
  app.option_defaults()->always_capture_default();
  app.add_option("--records", options.records, "Records in the manifest")->check(WholeNumber(1));
  app.add_option("--shards", options.shards, "Number of shards")->check(CLI::Range(1, 1'000'000));
  app.add_option("--runs", options.runs, "Number of runs, one after the other")
      ->check(CLI::Range(1, 1000));
  app.add_option("--folder", options.folder, "Make the data set in this folder and keep it");
  app.add_option("--json", options.json_file, "Write to this file instead of standard output");
  if (const auto code = ParseCommandLine(app, "cold_start", argc, argv)) return *code;

  std::string folder = options.folder;
  if (folder.empty())
    folder = std::filesystem::temp_directory_path() / absl::StrCat("big-", getpid());
  std::filesystem::create_directories(folder);
  absl::StatusOr<ordered_json> result = Run(options, folder);
  if (options.folder.empty()) std::filesystem::remove_all(folder);
  if (!result.ok()) {
    std::fprintf(stderr, "cold_start: %s\n", result.status().ToString().c_str());
    return 1;
  }
  if (options.json_file.empty()) {
    std::cout << result->dump(2) << "\n";
    return 0;
  }
  std::ofstream out(options.json_file);
  out << result->dump(2) << "\n";
  return out.flush().good() ? 0 : 1;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
