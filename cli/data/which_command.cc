// penstock which: prints the records of a step.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/flags/json_flag.h"
#include "base/json_text.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/dataset_argument.h"
#include "cli/stream/loader_flags.h"
#include "client/loader/loader_plan.h"
#include "client/plan/step_rows.h"
#include "records/dataset/split.h"
#include "records/format/record_id.h"

namespace penstock {
namespace {

struct WhichFlags {
  LoaderFlags loader;
  uint64_t step = 0;
  std::string json;
};

struct NamedRecord {
  uint64_t chunk = 0;
  uint64_t number = 0;  // Number of the record in its shard.
  // Whether it replaces a damaged record, which may be of another chunk of the window.
  bool replaced = false;
};

// The step and the record of each of this rank's rows.
struct StepRecords {
  // The options that decide which step the number means. A training may have been started with
  // other values.
  std::string split;
  uint64_t global_batch_size = 0;
  uint64_t seed = 0;
  uint64_t number = 0;
  Step step;
  std::vector<StepRow> rows;
  std::vector<NamedRecord> records;
  Cursor next;
};

// Returns whether all records of these chunks are in the split, so that the manifest alone names
// them.
bool AllOfTheirChunks(const std::vector<StepRow>& rows, const Manifest& manifest, Split split) {
  for (const StepRow& row : rows) {
    if (manifest.chunk_rows(row.record.chunk, split) != manifest.chunk(row.record.chunk).records) {
      return false;
    }
  }
  return true;
}

std::vector<NamedRecord> RecordsByThePlan(const std::vector<StepRow>& rows,
                                          const Manifest& manifest) {
  std::vector<NamedRecord> records;
  for (const StepRow& row : rows) {
    const auto [chunk, index] = row.record;
    records.push_back({chunk, manifest.chunk(chunk).first_record + index});
  }
  return records;
}

// Reads the step once, because only the records' bytes tell which records of a chunk are in a
// split.
absl::StatusOr<std::vector<NamedRecord>> RecordsByReading(LoaderOptions options,
                                                          const Cursor& cursor,
                                                          const std::vector<StepRow>& rows) {
  const std::shared_ptr<const Manifest> manifest = options.manifest;
  options.start = cursor;
  options.max_steps = 1;
  options.record_ids = true;
  options.look_ahead_bytes = 1;  // This leaves the minimum number of slots.
  PENSTOCK_RETURN_IF_ERROR(ChooseSpecOf(options, kAutoDtype));
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::Open(std::move(options)));
  Batch batch;
  PENSTOCK_ASSIGN_OR_RETURN(const bool more, loader->Next(batch));
  if (!more || batch.rows() != rows.size()) return absl::InternalError("the step was not read");
  std::vector<NamedRecord> records;
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t id = batch.record_ids()[i];
    const bool replaced = IsReplaced(id);
    const auto [chunk, index] = manifest->Locate(OrdinalOf(id));
    if (!replaced && chunk != rows[i].record.chunk) {
      return absl::InternalError("plan and rows disagree");
    }
    records.push_back({chunk, manifest->chunk(chunk).first_record + index, replaced});
  }
  return records;
}

absl::StatusOr<StepRecords> FindRecords(LoaderOptions options, uint64_t number) {
  const std::shared_ptr<const Manifest> manifest = options.manifest;
  const Split split = options.plan.split;
  PENSTOCK_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options));
  PENSTOCK_ASSIGN_OR_RETURN(const Steps steps, MakeSteps(options, plan));
  if (number >= steps.num_steps()) {
    return UsageError(absl::StrCat("--step ", number, ": there are ", steps.num_steps(),
                                   " steps, counted from 0"));
  }
  const Step step = steps.At(number);
  StepRecords found;
  found.split = std::string(SplitName(split));
  found.global_batch_size = options.global_batch_size;
  found.seed = options.plan.seed;
  found.number = number;
  found.step = step;
  found.rows = RowsOfStep(plan, step);
  found.next = {plan.fingerprint(), step.end.epoch, step.end.position};
  const bool replaces = options.on_error == OnError::kReplace;
  if (!replaces && AllOfTheirChunks(found.rows, *manifest, split)) {
    found.records = RecordsByThePlan(found.rows, *manifest);
    return found;
  }
  const Cursor begin = {plan.fingerprint(), step.begin.epoch, step.begin.position};
  absl::StatusOr<std::vector<NamedRecord>> records =
      RecordsByReading(std::move(options), begin, found.rows);
  if (!records.ok()) {
    return Annotate(records.status(),
                    replaces ? "which records --on-error replace replaces is known by reading them"
                             : "chunks hold records of both splits, so the step has to be read");
  }
  found.records = *std::move(records);
  return found;
}

void Print(const StepRecords& found, const Manifest& manifest) {
  const Step& step = found.step;
  PrintEscaped(stdout, "# split %s, global batch %s, seed %d\n", found.split,
               Grouped(found.global_batch_size), found.seed);
  PrintEscaped(stdout,
               "# step %d: epoch %d, %s from position %d on; %s of this rank, from row %d on:\n",
               found.number, step.begin.epoch, Counted(step.rows, "row", "rows"),
               step.begin.position, Counted(step.rank_rows, "row", "rows"), step.first_row);
  PrintEscaped(stdout, "# shard\trecord\tchunk_offset\trow\tlane\twindow\n");
  for (size_t i = 0; i < found.rows.size(); ++i) {
    const StepRow& row = found.rows[i];
    const NamedRecord& record = found.records[i];
    PrintEscaped(stdout, "%s\t%d\t%d\t%d\t%d\t%d%s\n",
                 manifest.shards()[manifest.chunk_shard(record.chunk)].path, record.number,
                 manifest.chunk(record.chunk).offset, row.row, row.window.lane, row.window.index,
                 Multiline(record.replaced ? "\treplaced" : ""));
  }
}

nlohmann::json ToJson(const StepRecords& found, const Manifest& manifest) {
  nlohmann::json rows = nlohmann::json::array();
  for (size_t i = 0; i < found.rows.size(); ++i) {
    const StepRow& row = found.rows[i];
    const NamedRecord& record = found.records[i];
    rows.push_back({{"row", row.row},
                    {"shard", manifest.shards()[manifest.chunk_shard(record.chunk)].path},
                    {"record", record.number},
                    {"replaced", record.replaced},
                    {"chunk_offset", manifest.chunk(record.chunk).offset},
                    {"epoch", row.window.epoch},
                    {"position", row.position},
                    {"lane", row.window.lane},
                    {"window", row.window.index}});
  }
  return {{"split", found.split},
          {"global_batch_size", found.global_batch_size},
          {"seed", found.seed},
          {"step", found.number},
          {"epoch", found.step.begin.epoch},
          {"position", found.step.begin.position},
          {"global_rows", found.step.rows},
          {"next_cursor", found.next.ToString()},
          {"rows", rows}};
}

absl::Status Which(const WhichFlags& flags) {
  PENSTOCK_ASSIGN_OR_RETURN(LoaderOptions options, ToLoaderOptions(flags.loader));
  PENSTOCK_RETURN_IF_ERROR(CheckDatasetArgument(flags.loader.manifest));
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(flags.json));
  PENSTOCK_ASSIGN_OR_RETURN(options.manifest, OpenManifestArgument(flags.loader.manifest, options));
  const std::shared_ptr<const Manifest> manifest = options.manifest;
  absl::StatusOr<StepRecords> found = FindRecords(std::move(options), flags.step);
  if (!found.ok()) return UsageErrorOf(found.status());
  if (flags.json != kStandardOutput) Print(*found, *manifest);
  if (flags.json.empty()) return absl::OkStatus();
  return WriteJson(flags.json, JsonText(ToJson(*found, *manifest), 2));
}

}  // namespace

void AddWhichCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "which",
      "Print the records that form a step. They are named by shard and number in the shard, in the "
      "order of the rows. Steps count from 0, or from --cursor. Give the options of the order that "
      "the training had, such as --global-batch-size and --seed.",
      "penstock which --manifest data/manifest.pb --seed 7 --step 1000\n"
      "penstock which data/manifest.pb --seed 7 --step 1000 \\\n"
      "    --rank 3 --world-size 8 --json -");
  command.group("Look at data");
  auto flags = std::make_shared<WhichFlags>();
  flags->loader.epochs = 0;
  command.add_option("--step", flags->step, "Number of the step")->required()->default_str("");
  AddLoaderFlags(command, flags->loader);
  AddJsonFlag(command, flags->json, "Write the result");
  OnRun(command, outcome, [flags] { return Which(*flags); });
}

}  // namespace penstock
