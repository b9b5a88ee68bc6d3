// penstock stream: reads batches as a trainer would.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/byte_size.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/array_files.h"
#include "cli/data/dataset_argument.h"
#include "cli/stream/line_file.h"
#include "cli/stream/loader_flags.h"
#include "cli/stream/pace.h"
#include "cli/stream/row_digest.h"
#include "cli/stream/row_rate.h"
#include "cli/stream/stats_json.h"
#include "cli/stream/wait_times.h"
#include "cli/terminal/close_on_interrupt.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "client/metrics/loader_metrics.h"
#include "metrics/metrics_flags.h"

namespace penstock {
namespace {

struct StreamFlags {
  LoaderFlags loader;
  MetricsFlags metrics;
  std::string ids;
  std::string waits;
  std::string npy;
  double pace = 0;
  bool digest = false;
  bool digest_by_record = false;
  std::string json;
};

// Writes FOLDER/STEP/TENSOR.npy.
absl::Status WriteBatch(const Batch& batch, const std::string& folder) {
  std::vector<TensorInfo> tensors;
  for (const TensorView& view : batch.tensors()) {
    tensors.push_back({.name = std::string(view.name),
                       .dtype = view.dtype,
                       .shape = {view.shape.begin(), view.shape.end()},
                       .row_bytes = view.row_bytes});
  }
  PENSTOCK_ASSIGN_OR_RETURN(ArrayFiles arrays,
                            ArrayFiles::Create(absl::StrFormat("%s/%08d", folder, batch.step()),
                                               /*force=*/true, tensors));
  PENSTOCK_RETURN_IF_ERROR(arrays.Append(batch.tensors(), batch.rows()));
  return arrays.Finish();
}

// The destinations of batches. The manifest must outlive this.
struct Sinks {
  std::optional<RowDigest> digest = {};
  std::optional<RecordDigest> digest_by_record = {};
  std::optional<LineFile> ids = {};
  std::optional<LineFile> waits = {};
  std::string npy = {};  // A folder for batches; empty if there is none.
  const Manifest* manifest;
  Progress* progress;

  static absl::StatusOr<Sinks> Create(const StreamFlags& flags, const Manifest& manifest,
                                      Progress& progress) {
    Sinks sinks = {.npy = flags.npy, .manifest = &manifest, .progress = &progress};
    if (flags.digest) sinks.digest.emplace();
    if (flags.digest_by_record) sinks.digest_by_record.emplace();
    if (!flags.ids.empty()) {
      PENSTOCK_ASSIGN_OR_RETURN(sinks.ids, LineFile::CreateForIds(flags.ids, manifest));
    }
    if (!flags.waits.empty()) {
      PENSTOCK_ASSIGN_OR_RETURN(sinks.waits, LineFile::CreateForWaits(flags.waits));
    }
    return sinks;
  }

  absl::Status Take(const Batch& batch) {
    if (digest) digest->Add(batch);
    if (digest_by_record) digest_by_record->Add(batch);
    if (!npy.empty()) PENSTOCK_RETURN_IF_ERROR(WriteBatch(batch, npy));
    progress->Add(batch.rows());
    return ids ? ids->WriteIds(batch.record_ids(), *manifest) : absl::OkStatus();
  }
};

struct StreamResult {
  absl::Duration elapsed;
  LoaderStats stats;
  std::string cursor;
  std::string digest;  // Empty unless asked for, like digest_by_record.
  std::string digest_by_record;
  // Number of rows of an epoch, over all ranks, that do not fill a step.
  uint64_t left_out = 0;
  absl::Duration first_batch;  // Time from the first request for a batch until it arrived.
  WaitTimes waits;             // Waits for the batches after the first.
  absl::string_view rows_name = "rows";
};

// Reads batches until the end, an error or Close().
absl::Status ReadBatches(Loader& loader, Pace pace, absl::Time start, Sinks& sinks,
                         StreamResult& result) {
  Batch batch;
  for (bool first = true;; first = false) {
    const absl::Time asked = absl::Now();
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, loader.Next(batch));
    if (!more) return absl::OkStatus();
    const absl::Time arrived = absl::Now();
    if (first) {
      result.first_batch = arrived - asked;
    } else {
      result.waits.Add(arrived - asked);
    }
    if (sinks.waits) {
      PENSTOCK_RETURN_IF_ERROR(sinks.waits->WriteWait(arrived - start, arrived - asked));
    }
    PENSTOCK_RETURN_IF_ERROR(sinks.Take(batch));
    result.cursor = batch.cursor().ToString();
    pace.Work(arrived, batch.rows());
    // Otherwise the batches that were fetched ahead would be read before Close() comes.
    if (!InterruptGuard::Check().ok()) return absl::OkStatus();
  }
}

// Reads batches and fills `result`, even if an error ends the reading.
absl::Status ReadAll(Loader& loader, const StreamFlags& flags, Sinks& sinks, StreamResult& result) {
  result.cursor = flags.loader.cursor;
  const absl::Time start = absl::Now();
  absl::Status status = ReadBatches(loader, Pace(flags.pace), start, sinks, result);
  result.elapsed = absl::Now() - start;
  result.stats = loader.stats();
  if (sinks.digest) result.digest = sinks.digest->Hex();
  if (sinks.digest_by_record) result.digest_by_record = sinks.digest_by_record->Hex();
  return status;
}

nlohmann::json WaitsToJson(const WaitTimes& waits) {
  return {{"p50", absl::ToDoubleSeconds(waits.Quantile(0.5))},
          {"p99", absl::ToDoubleSeconds(waits.Quantile(0.99))},
          {"max", absl::ToDoubleSeconds(waits.max())}};
}

nlohmann::json ToJson(const StreamResult& result) {
  const double seconds = absl::ToDoubleSeconds(result.elapsed);
  nlohmann::json json = CountersToJson(result.stats);
  json.update({{"seconds", seconds},
               {"bytes_per_second", result.stats.bytes / seconds},
               {"wait_seconds", absl::ToDoubleSeconds(result.stats.wait)},
               {"first_batch_seconds", absl::ToDoubleSeconds(result.first_batch)},
               {"rows_left_out_per_epoch", result.left_out},
               {"batch_wait_seconds", WaitsToJson(result.waits)},
               {"cursor", result.cursor},
               {"servers", ServersToJson(result.stats)}});
  AddRate(result.stats.rows / seconds, result.rows_name, json);
  if (!result.digest.empty()) json["digest"] = result.digest;
  if (!result.digest_by_record.empty()) json["digest_by_record"] = result.digest_by_record;
  return json;
}

std::string ShortDuration(absl::Duration duration) {
  return absl::StrCat(ThreeDigits(absl::ToDoubleMilliseconds(duration)), " ms");
}

std::string Through(const LoaderStats::Server& server) {
  if (!server.connected && !server.problem.empty()) {
    return absl::StrCat("; not connected: ", server.problem);
  }
  if (server.shared_memory == "ok") return ", through shared memory";
  std::string without;
  if (!server.shared_memory.empty()) {
    absl::StrAppend(&without, "; no shared memory: ", server.shared_memory);
  }
  if (!server.no_further_connection.empty()) {
    absl::StrAppend(&without, "; no further connection: ", server.no_further_connection);
  }
  return without;
}

void Print(const StreamResult& result) {
  const double seconds = absl::ToDoubleSeconds(result.elapsed);
  const LoaderStats& stats = result.stats;
  PrintEscaped(stdout, "rows     %s in %s, %s\n", Grouped(stats.rows),
               Counted(stats.batches, "step", "steps"), FormatByteSize(stats.bytes));
  if (result.left_out > 0) {
    PrintEscaped(stdout,
                 "left out %s of each epoch, too few for a step: --remainder short or carry\n",
                 Counted(result.left_out, "row", "rows"));
  }
  PrintEscaped(stdout, "rate     %s %s/s, %s/s\n",
               Grouped(static_cast<uint64_t>(stats.rows / seconds)), result.rows_name,
               FormatByteSize(static_cast<uint64_t>(stats.bytes / seconds)));
  PrintEscaped(stdout, "waited   %.3f s of %.3f s for input\n", absl::ToDoubleSeconds(stats.wait),
               seconds);
  PrintEscaped(stdout, "batch    first after %s; then waited p50 %s, p99 %s, longest %s\n",
               ShortDuration(result.first_batch), ShortDuration(result.waits.Quantile(0.5)),
               ShortDuration(result.waits.Quantile(0.99)), ShortDuration(result.waits.max()));
  for (const LoaderStats::Server& server : stats.servers) {
    PrintEscaped(stdout, "server   %s  %s, %s, %s lost, %s late, %s handed over%s\n",
                 server.address, Counted(server.parts, "part", "parts"),
                 FormatByteSize(server.bytes), Counted(server.lost_requests, "request", "requests"),
                 Grouped(server.late_requests),
                 Counted(server.windows_handed_over, "window", "windows"), Through(server));
  }
  if (stats.undecodable_rows > 0) {
    PrintEscaped(stdout, "replaced %s cannot be decoded\n",
                 Counted(stats.undecodable_rows, "row whose record", "rows whose records"));
  }
  if (const std::string noted = Describe(stats.images); !noted.empty()) {
    PrintEscaped(stdout, "images   %s\n", noted);
  }
  if (stats.replaced_records > 0) {
    PrintEscaped(stdout, "replaced %s\n",
                 Counted(stats.replaced_records, "damaged record", "damaged records"));
    for (const std::string& damaged : stats.damaged) PrintEscaped(stdout, "         %s\n", damaged);
  }
  if (!result.cursor.empty()) PrintEscaped(stdout, "cursor   %s\n", result.cursor);
  if (!result.digest.empty()) PrintEscaped(stdout, "digest   sha256 %s\n", result.digest);
  if (!result.digest_by_record.empty()) {
    PrintEscaped(stdout, "records  sum of sha256 %s\n", result.digest_by_record);
  }
}

// Opens the loader. If it refuses flags, that is wrong usage.
absl::StatusOr<std::unique_ptr<Loader>> OpenLoaderOf(LoaderOptions options) {
  absl::StatusOr<std::unique_ptr<Loader>> loader = Loader::Open(std::move(options));
  if (loader.ok()) return loader;
  return UsageErrorOf(loader.status());
}

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> StartMetricsOf(const Loader& loader,
                                                                const StreamFlags& flags) {
  auto metrics = StartMetrics(flags.metrics, [&](MetricFamilies& families) {
    AddLoaderMetrics(loader.stats(), flags.loader.source.network.tls_files.cert_file, families);
  });
  if (metrics.ok() && *metrics != nullptr) {
    PrintEscaped(stderr, "metrics on http://%s/metrics\n", (*metrics)->address());
  }
  return metrics;
}

absl::Status StreamRecords(const StreamFlags& flags) {
  PENSTOCK_ASSIGN_OR_RETURN(LoaderOptions options, ToLoaderOptions(flags.loader));
  if (absl::Status valid = flags.metrics.Validate(); !valid.ok()) {
    return UsageError(valid.message());
  }
  options.report = [](absl::string_view line) { PrintEscaped(stderr, "penstock: %s\n", line); };
  PENSTOCK_RETURN_IF_ERROR(CheckDatasetArgument(flags.loader.manifest));
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(flags.json));
  PENSTOCK_ASSIGN_OR_RETURN(options.manifest, OpenManifestArgument(flags.loader.manifest, options));
  PENSTOCK_RETURN_IF_ERROR(ChooseSpecOf(options, flags.loader.dtype));
  options.record_ids = !flags.ids.empty() || flags.digest_by_record;
  const std::shared_ptr<const Manifest> manifest = options.manifest;
  const Split split = options.plan.split;
  InterruptGuard interrupts;
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, OpenLoaderOf(std::move(options)));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<MetricsEndpoint> metrics,
                            StartMetricsOf(*loader, flags));
  Progress progress(
      {.label = "streaming", .total = RowsToRead(flags.loader, loader->steps_left())});
  PENSTOCK_ASSIGN_OR_RETURN(Sinks sinks, Sinks::Create(flags, *manifest, progress));
  PENSTOCK_ASSIGN_OR_RETURN(const auto close, CloseOnInterrupt::Start(*loader));
  StreamResult result;
  result.rows_name = RowsName(manifest->features());
  const uint64_t steps = flags.loader.steps;
  const bool whole_epochs = steps == 0 || steps >= loader->steps_per_epoch();
  if (flags.loader.source.remainder == "drop" && whole_epochs) {
    result.left_out = manifest->num_records(split) % flags.loader.global_batch_size;
  }
  const absl::Status status = ReadAll(*loader, flags, sinks, result);
  const absl::Status interrupted = InterruptGuard::Check();
  // Print what was read before a failure too, because its cursor is the place to continue.
  if (!status.ok() && interrupted.ok() && result.stats.rows == 0) return status;
  progress.Finish("");
  if (flags.json != kStandardOutput) Print(result);
  if (!flags.json.empty()) {
    PENSTOCK_RETURN_IF_ERROR(WriteJson(flags.json, JsonText(ToJson(result), 2)));
  }
  return interrupted.ok() ? status : interrupted;
}

}  // namespace

void AddStreamCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "stream",
      "Read batches as a trainer would. It reads from servers or in this process, and prints rate, "
      "bytes, waits and the last cursor, also after Ctrl-C. --cursor resumes there.",
      "penstock stream data --servers local: --epochs 2 --digest\n"
      "penstock stream data/manifest.pb \\\n"
      "    --servers 10.0.0.1:7070,10.0.0.2:7070 --dtype packed\n"
      "penstock stream server:data/manifest.pb --servers dns:///penstock:7070");
  command.group("Read");
  auto flags = std::make_shared<StreamFlags>();
  AddLoaderFlags(command, flags->loader);
  AddStepsFlag(command, flags->loader);
  command
      .add_option("--pace", flags->pace,
                  "Rows a second that this rank reads; time lost waiting is not made up for; 0: no "
                  "limit")
      ->check(Number(0))
      ->type_name("RATE")
      ->group("Options");
  command.option_defaults()->group("Output");
  command.add_flag("--digest", flags->digest, "Print the SHA-256 of all rows in order");
  command.add_flag("--digest-by-record", flags->digest_by_record,
                   "Print a digest that does not depend on the order of rows; those of all ranks "
                   "add up to the digest of one rank");
  command
      .add_option("--ids", flags->ids,
                  "Write the shard and record number of each row; replaces the file")
      ->type_name("FILE")
      ->default_str("");
  command
      .add_option(
          "--waits", flags->waits,
          "Write a line for each batch: when it arrived, and how long the reader waited for "
          "it, in seconds")
      ->type_name("FILE")
      ->default_str("");
  command
      .add_option("--npy", flags->npy,
                  "Write each batch as NumPy arrays DIR/STEP/TENSOR.npy; replaces those of an "
                  "earlier run")
      ->type_name("DIR")
      ->default_str("");
  AddJsonFlag(command, flags->json, "Write the result");
  AddMetricsFlags(command, flags->metrics);
  OnRun(command, outcome, [flags] { return StreamRecords(*flags); });
}

}  // namespace penstock
