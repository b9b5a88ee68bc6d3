#include "cli/stream/loader_flags.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/flags/number_flags.h"
#include "base/status.h"
#include "cli/command.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/loader_plan.h"
#include "client/servers/server_list.h"
#include "records/dataset/split.h"
#include "records/engine/engine_options.h"

namespace penstock {
namespace {

// Makes a refused value a wrong usage of its flag.
template <typename T>
absl::StatusOr<T> AsUsage(absl::string_view flag, absl::StatusOr<T> value) {
  return value.ok() ? std::move(value)
                    : UsageError(absl::StrCat(flag, ": ", value.status().message()));
}

// Warns of flags that only matter for local:, because servers have threads and memory of their own.
void AddWarningsOfLocalFlags(const LoaderFlags& flags, std::vector<std::string>& warnings) {
  if (flags.source.servers == kLocalServer) return;
  const std::pair<const char*, bool> of_local[] = {{"--threads", flags.threads != 0},
                                                   {"--memory-budget", flags.memory_budget != "0"}};
  for (const auto& [flag, given] : of_local) {
    if (given)
      warnings.push_back(
          absl::StrCat(flag, " has no effect here: it applies to --servers local: only"));
  }
}

// Fills in the source's part of `options`. Prints the warnings of its flags.
absl::Status FillFromSource(const LoaderFlags& flags, LoaderOptions& options) {
  absl::Status status = FillLoaderOptions(flags.source, options);
  std::vector<std::string> warnings;
  if (status.ok()) status = CheckSource(options, warnings);
  if (!status.ok()) return UsageError(status.message());
  AddWarningsOfLocalFlags(flags, warnings);
  PrintWarnings(warnings);
  return absl::OkStatus();
}

}  // namespace

void AddLoaderFlags(CLI::App& command, LoaderFlags& flags) {
  AddManifestFlag(command, flags.manifest);
  command.option_defaults()->group("Options");
  command.add_option("--global-batch-size", flags.global_batch_size,
                     "Rows of a step over all ranks");
  command.add_option("--epochs", flags.epochs, "Epochs to read; 0: no limit")
      ->default_str(flags.epochs.has_value() ? absl::StrCat(*flags.epochs)
                                             : "1, or as many as --steps needs");
  command.option_defaults()->group("Data");
  command.add_option("--split", flags.split, "Split to read")
      ->check(CLI::IsMember({"train", "holdout", "all"}))
      ->type_name("SPLIT");
  command.option_defaults()->group("Order");
  command.add_option("--seed", flags.seed, "Seed of the order");
  command
      .add_option("--cursor", flags.cursor, "Cursor that an earlier run printed, to resume there")
      ->type_name("CURSOR");
  AddSourceFlags(command, flags.source);
  command.option_defaults()->group("Decoding");
  command
      .add_option("--dtype", flags.dtype,
                  "Type of expanded bits, such as chess planes; bf16 and f64 apply to floats too, "
                  "and integers keep their type; auto: packed if the spec expands bits, else i8")
      ->check(CLI::IsMember({"auto", "packed", "i8", "bf16", "f32", "f64"}))
      ->type_name("DTYPE");
  command.option_defaults()->group("Ranks");
  command.add_option("--rank", flags.rank, "Rank of this process");
  command.add_option("--world-size", flags.world_size, "Number of ranks");
  command.option_defaults()->group("Tuning");
  command
      .add_option("--threads", flags.threads,
                  "Threads that decode with --servers local:; 0: the cores this process may use")
      ->check(WholeNumber(0, EngineOptions::kMaxThreads));
  command
      .add_option("--memory-budget", flags.memory_budget,
                  "Memory for chunks with --servers local:; 0: a quarter of what this process may "
                  "use")
      ->type_name("SIZE");
}

void AddStepsFlag(CLI::App& command, LoaderFlags& flags) {
  command.add_option("--steps", flags.steps, "Steps to read; 0: no limit")->group("Options");
}

absl::StatusOr<LoaderOptions> ToLoaderOptions(const LoaderFlags& flags) {
  LoaderOptions options;
  PENSTOCK_RETURN_IF_ERROR(FillFromSource(flags, options));
  PENSTOCK_ASSIGN_OR_RETURN(options.spec, LoadNamedSpec(flags.source.spec));
  if (flags.dtype != kAutoDtype) {
    PENSTOCK_ASSIGN_OR_RETURN(options.dtype, AsUsage("--dtype", ParseWireDtype(flags.dtype)));
  }
  PENSTOCK_ASSIGN_OR_RETURN(options.plan.split, AsUsage("--split", ParseSplit(flags.split)));
  options.plan.seed = flags.seed;
  options.global_batch_size = flags.global_batch_size;
  options.epochs = EpochsToRead(flags);
  options.max_steps = flags.steps;
  options.rank = flags.rank;
  options.world_size = flags.world_size;
  if (!flags.cursor.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(options.start, AsUsage("--cursor", Cursor::Parse(flags.cursor)));
  }
  options.local_threads = flags.threads;
  PENSTOCK_ASSIGN_OR_RETURN(
      options.local_memory_budget,
      AsUsage("--memory-budget",
              ParseByteSizeOrZero(flags.memory_budget, EngineOptions::kMinMemoryBudget)));
  return options;
}

absl::Status UsageErrorOf(const absl::Status& failed) {
  if (failed.GetPayload(kCursorPayload).has_value()) {
    return UsageError(absl::StrCat("--cursor: ", failed.message()));
  }
  return absl::IsInvalidArgument(failed) ? UsageError(failed.message()) : failed;
}

uint64_t EpochsToRead(const LoaderFlags& flags) {
  return flags.epochs.value_or(flags.steps > 0 ? 0 : 1);
}

uint64_t RowsToRead(const LoaderFlags& flags, uint64_t steps_left) {
  const uint64_t steps = flags.steps == 0 ? steps_left : std::min(flags.steps, steps_left);
  const uint64_t rows_per_step = flags.global_batch_size / flags.world_size;
  const bool without_end = steps > std::numeric_limits<uint64_t>::max() / rows_per_step;
  return without_end ? 0 : steps * rows_per_step;
}

}  // namespace penstock
