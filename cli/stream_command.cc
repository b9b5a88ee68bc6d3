// penstock stream: reads as a trainer would.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "cli/close_on_interrupt.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/dataset_argument.h"
#include "cli/interrupt.h"
#include "cli/loader_flags.h"
#include "cli/progress.h"
#include "cli/row_digest.h"
#include "records/base/byte_size.h"
#include "records/base/status.h"

namespace penstock {
namespace {

struct StreamFlags {
  LoaderFlags loader;
  std::string ids;
  bool digest = false;
  bool json = false;
};

// Lines "SHARD<TAB>NUMBER", one a row.
class IdFile {
 public:
  static absl::StatusOr<IdFile> Create(const std::string& path, const Manifest& manifest) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return ErrnoToStatus(errno, path);
    return IdFile(path, file, manifest);
  }

  absl::Status Write(std::span<const uint64_t> ids) {
    for (uint64_t id : ids) {
      const auto [chunk, index] = manifest_->Locate(id);
      const std::string& shard = manifest_->shards()[manifest_->chunk_shard(chunk)].path;
      const uint64_t number = manifest_->chunk(chunk).first_record + index;
      std::fprintf(file_.get(), "%s\t%llu\n", shard.c_str(),
                   static_cast<unsigned long long>(number));
    }
    return std::ferror(file_.get()) ? ErrnoToStatus(errno, path_) : absl::OkStatus();
  }

  absl::Status Finish() {
    return std::fflush(file_.get()) == 0 ? absl::OkStatus() : ErrnoToStatus(errno, path_);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  IdFile(std::string path, std::FILE* file, const Manifest& manifest)
      : path_(std::move(path)), file_(file), manifest_(&manifest) {}

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  const Manifest* manifest_;  // Outlives this.
};

struct StreamResult {
  absl::Duration elapsed;
  LoaderStats stats;
  std::string cursor;
  std::string digest;
};

// Until the end, an error or Close(); `batch` outlives no loader.
absl::Status ReadBatches(Loader& loader, RowDigest* digest, std::optional<IdFile>& ids,
                         Progress& progress, std::string& cursor) {
  Batch batch;
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, loader.Next(batch));
    if (!more) break;
    if (digest != nullptr && batch.rows() > 0) digest->Add(batch);
    if (ids) PENSTOCK_RETURN_IF_ERROR(ids->Write(batch.record_ids()));
    cursor = batch.cursor().ToString();
    progress.Add(batch.rows());
  }
  return ids ? ids->Finish() : absl::OkStatus();
}

// `result` is of what was read, also when that ended with an error.
absl::Status ReadAll(Loader& loader, const StreamFlags& flags, std::optional<IdFile>& ids,
                     Progress& progress, StreamResult& result) {
  result.cursor = flags.loader.cursor;
  RowDigest digest;
  const absl::Time start = absl::Now();
  const absl::Status status =
      ReadBatches(loader, flags.digest ? &digest : nullptr, ids, progress, result.cursor);
  result.elapsed = absl::Now() - start;
  result.stats = loader.stats();
  if (flags.digest) result.digest = digest.Hex();
  return status;
}

nlohmann::json ToJson(const StreamResult& result) {
  const double seconds = absl::ToDoubleSeconds(result.elapsed);
  nlohmann::json servers = nlohmann::json::array();
  for (const LoaderStats::Server& server : result.stats.servers) {
    servers.push_back({{"address", server.address},
                       {"parts", server.parts},
                       {"rows", server.rows},
                       {"bytes", server.bytes},
                       {"lost_requests", server.lost_requests},
                       {"stream_breaks", server.stream_breaks}});
  }
  nlohmann::json json = {{"rows", result.stats.rows},
                         {"steps", result.stats.batches},
                         {"bytes", result.stats.bytes},
                         {"seconds", seconds},
                         {"positions_per_second", result.stats.rows / seconds},
                         {"bytes_per_second", result.stats.bytes / seconds},
                         {"wait_seconds", absl::ToDoubleSeconds(result.stats.wait)},
                         {"cursor", result.cursor},
                         {"servers", servers}};
  if (!result.digest.empty()) json["digest"] = result.digest;
  return json;
}

void Print(const StreamResult& result) {
  const double seconds = absl::ToDoubleSeconds(result.elapsed);
  const LoaderStats& stats = result.stats;
  absl::PrintF("rows     %d in %d steps, %s\n", stats.rows, stats.batches,
               FormatByteSize(stats.bytes));
  absl::PrintF("rate     %.0f positions/s, %s/s\n", stats.rows / seconds,
               FormatByteSize(static_cast<uint64_t>(stats.bytes / seconds)));
  absl::PrintF("waited   %.3f s of %.3f s for input\n", absl::ToDoubleSeconds(stats.wait), seconds);
  for (const LoaderStats::Server& server : stats.servers) {
    absl::PrintF("server   %s  %d parts, %s, %d requests lost\n", server.address, server.parts,
                 FormatByteSize(server.bytes), server.lost_requests);
  }
  absl::PrintF("cursor   %s\n", result.cursor);
  if (!result.digest.empty()) absl::PrintF("digest   sha256 %s\n", result.digest);
}

// What the loader refuses of the flags is wrong usage.
absl::StatusOr<std::unique_ptr<Loader>> OpenLoaderOf(LoaderOptions options) {
  absl::StatusOr<std::unique_ptr<Loader>> loader = Loader::Open(std::move(options));
  if (absl::IsInvalidArgument(loader.status())) return UsageError(loader.status().message());
  return loader;
}

absl::Status StreamRecords(const StreamFlags& flags) {
  PENSTOCK_ASSIGN_OR_RETURN(LoaderOptions options, ToLoaderOptions(flags.loader));
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDatasetArgument(flags.loader.manifest));
  options.manifest = std::make_shared<const Manifest>(std::move(dataset.manifest));
  options.record_ids = !flags.ids.empty();
  const std::shared_ptr<const Manifest> manifest = options.manifest;
  InterruptGuard interrupts;
  std::optional<IdFile> ids;
  if (options.record_ids) {
    PENSTOCK_ASSIGN_OR_RETURN(ids, IdFile::Create(flags.ids, *manifest));
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, OpenLoaderOf(std::move(options)));
  const uint64_t rows_per_step = flags.loader.global_batch_size / flags.loader.world_size;
  const uint64_t steps = flags.loader.steps != 0 ? flags.loader.steps
                                                 : flags.loader.epochs * loader->steps_per_epoch();
  Progress progress({.label = "streaming", .total = steps * rows_per_step});
  CloseOnInterrupt close(*loader);
  StreamResult result;
  const absl::Status status = ReadAll(*loader, flags, ids, progress, result);
  const absl::Status interrupted = InterruptGuard::Check();
  // What was read before a failure is told too: its cursor is where to go on.
  if (!status.ok() && interrupted.ok() && result.stats.rows == 0) return status;
  progress.Finish("");
  if (flags.json) {
    absl::PrintF("%s\n", ToJson(result).dump(2));
  } else {
    Print(result);
  }
  return interrupted.ok() ? status : interrupted;
}

}  // namespace

void AddStreamCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "stream",
      "Read batches as a trainer would, from servers or in this process, and print rate, bytes,\n"
      "waits and the last cursor, after Ctrl-C too: --cursor continues there.",
      "penstock stream data --servers local: --global-batch-size 512 --epochs 2 --digest\n"
      "penstock stream data/manifest.pb --servers 10.0.0.1:7070,10.0.0.2:7070 --dtype packed");
  auto flags = std::make_shared<StreamFlags>();
  AddLoaderFlags(command, flags->loader);
  command.add_flag("--digest", flags->digest, "Print the SHA-256 of the rows in order");
  command.add_option("--ids", flags->ids, "Write each row's shard and record number to FILE")
      ->default_str("");
  command.add_flag("--json", flags->json, "Print one JSON object");
  OnRun(command, outcome, [flags] { return StreamRecords(*flags); });
}

}  // namespace penstock
