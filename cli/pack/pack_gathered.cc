#include "cli/pack/pack_gathered.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/pack/pack_output.h"
#include "cli/pack/shard_set.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "nlohmann/json.hpp"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

// Returns the total size. A file of unknown size adds nothing; opening it fails later.
uint64_t BytesOfFiles(const std::vector<InputFiles>& inputs) {
  uint64_t total = 0;
  for (const InputFiles& files : inputs) {
    for (const std::string& file : files) {
      std::error_code error;
      const uint64_t bytes = std::filesystem::file_size(file, error);
      if (!error) total += bytes;
    }
  }
  return total;
}

uint64_t NumFiles(const std::vector<InputFiles>& inputs) {
  uint64_t files = 0;
  for (const InputFiles& input : inputs) files += input.size();
  return files;
}

// Returns "train" for train/, train.csv.gz and train-00000-of-00004.tfrecord. The kind of input
// decides which extension is removed.
std::string NameOf(const PackOptions& options) {
  const std::string file = std::filesystem::path(NormalPath(options.inputs[0])).filename().string();
  std::error_code ignored;  // A file that is not visible cannot be read either.
  if (std::filesystem::is_directory(options.inputs[0], ignored)) return file;
  const size_t end = file.find(absl::StrCat(".", options.from));
  return SetName(end == file.npos ? std::filesystem::path(file).stem().string()
                                  : file.substr(0, end));
}

// Checks that no input lies in the output folder. Inputs may be folders.
absl::Status CheckApart(const PackOptions& options) {
  const std::string output = NormalPath(options.shards.folder);
  for (const std::string& input : options.inputs) {
    const std::string place = NormalPath(input);
    if (place != output && !PathBeneath(options.shards.folder, input).ok()) continue;
    return UsageError(absl::StrCat("-o ", options.shards.folder, " has the input ", input,
                                   ": its records would be there twice; write to another folder"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GatheredRecords>> Gather(const std::vector<InputFiles>& inputs,
                                                        const OpenRecords& open,
                                                        const std::string& kind,
                                                        const PackOptions& options) {
  const GatherOptions gather = {.folder = options.shards.folder,
                                .skip_invalid = options.shards.skip_invalid,
                                .must_have = options.filter_missing,
                                .kind = kind};
  Progress progress({.label = "reading", .unit = "bytes", .total = BytesOfFiles(inputs)});
  PENSTOCK_ASSIGN_OR_RETURN(
      std::unique_ptr<GatheredRecords> gathered,
      GatherRecords(inputs, open, gather, [&](uint64_t bytes) { progress.Add(bytes); }));
  progress.Finish(absl::StrCat(Counted(gathered->records.size(), "record", "records"), " in ",
                               Counted(NumFiles(inputs), "file", "files")));
  return gathered;
}

void TellLeftOut(const GatheredRecords& gathered, const PackOptions& options) {
  if (gathered.num_lacking > 0) {
    PrintEscaped(stderr, "penstock: left out %s without feature %s\n",
                 Counted(gathered.num_lacking, "record", "records"),
                 absl::StrJoin(options.filter_missing, " or "));
  }
  if (gathered.num_skipped == 0) return;
  for (const std::string& why : gathered.skipped) {
    PrintEscaped(stderr, "penstock: skipped %s\n", why);
  }
  const uint64_t more = gathered.num_skipped - gathered.skipped.size();
  PrintEscaped(stderr, "penstock: skipped %s%s\n",
               Counted(gathered.num_skipped, "invalid record", "invalid records"),
               more > 0 ? absl::StrCat("; ", Counted(more, "is", "are"), " not listed") : "");
}

absl::Status NoRecord(const GatheredRecords& gathered) {
  std::string text = "no record to pack: ";
  if (gathered.num_skipped + gathered.num_lacking == 0) {
    return absl::InvalidArgumentError(absl::StrCat(text, "the input has none"));
  }
  absl::StrAppend(&text, Counted(gathered.num_skipped, "record is invalid", "records are invalid"),
                  ", ", Counted(gathered.num_lacking, "record lacks", "records lack"),
                  " a feature of --filter-missing");
  if (!gathered.skipped.empty()) {
    absl::StrAppend(&text, "; the first invalid one: ", gathered.skipped[0]);
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace

std::vector<InputFiles> EachAlone(const std::vector<std::string>& files) {
  std::vector<InputFiles> inputs;
  for (const std::string& file : files) inputs.push_back({file});
  return inputs;
}

absl::Status PackGathered(const std::vector<InputFiles>& inputs, const OpenRecords& open,
                          const std::string& kind, PackOptions options) {
  PENSTOCK_RETURN_IF_ERROR(CheckApart(options));
  PENSTOCK_RETURN_IF_ERROR(PrepareOutput(NameOf(options), options));
  InterruptGuard interrupts;
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<GatheredRecords> gathered,
                            Gather(inputs, open, kind, options));
  TellLeftOut(*gathered, options);
  if (gathered->records.size() == 0) return NoRecord(*gathered);
  PENSTOCK_ASSIGN_OR_RETURN(const WrittenShards written,
                            WriteWithProgress(gathered->records, options, "records"));
  return WriteSummary(written, options,
                      {{"lacking", gathered->num_lacking},
                       {"skipped", gathered->num_skipped},
                       {"skipped_records", gathered->skipped}});
}

}  // namespace penstock
