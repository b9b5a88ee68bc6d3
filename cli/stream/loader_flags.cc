#include "cli/stream/loader_flags.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

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

// What a flag's value was refused for is wrong usage.
template <typename T>
absl::StatusOr<T> AsUsage(absl::string_view flag, absl::StatusOr<T> value) {
  return value.ok() ? std::move(value)
                    : UsageError(absl::StrCat(flag, ": ", value.status().message()));
}

// Servers have threads and memory of their own.
void AddWarningsOfLocalFlags(const LoaderFlags& flags, std::vector<std::string>& warnings) {
  if (flags.source.servers == kLocalServer) return;
  const std::pair<const char*, bool> of_local[] = {{"--threads", flags.threads != 0},
                                                   {"--memory-budget", flags.memory_budget != "0"}};
  for (const auto& [flag, given] : of_local) {
    if (given) warnings.push_back(absl::StrCat(flag, " is for local:, without effect here"));
  }
}

// The source's part of `options`, and what its flags bring up.
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
  AddSourceFlags(command, flags.source);
  command
      .add_option("--dtype", flags.dtype,
                  "What numeric tensors travel as; auto: packed where the spec expands bits, such\n"
                  "as chess's, else i8")
      ->check(CLI::IsMember({"auto", "packed", "i8", "bf16", "f32", "f64"}));
  command.add_option("--split", flags.split, "Which records")
      ->check(CLI::IsMember({"train", "holdout", "all"}));
  command.add_option("--global-batch-size", flags.global_batch_size, "Rows of a step, all ranks");
  command.add_option("--seed", flags.seed, "Of the order");
  command.add_option("--epochs", flags.epochs, "0: without end");
  command.add_option("--rank", flags.rank, "This rank");
  command.add_option("--world-size", flags.world_size, "Ranks altogether");
  command.add_option("--cursor", flags.cursor, "Continue from a cursor that was printed");
  command.add_option("--threads", flags.threads, "local: only; 0: the cores of this process")
      ->check(WholeNumber(0, EngineOptions::kMaxThreads));
  command.add_option("--memory-budget", flags.memory_budget,
                     "local: only, for chunks; 0: a quarter of the memory");
}

void AddStepsFlag(CLI::App& command, LoaderFlags& flags) {
  command.add_option("--steps", flags.steps, "Stop after so many steps; 0: no limit");
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
  options.epochs = flags.epochs;
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

uint64_t RowsToRead(const LoaderFlags& flags, uint64_t steps_left) {
  const uint64_t steps = flags.steps == 0 ? steps_left : std::min(flags.steps, steps_left);
  const uint64_t rows_per_step = flags.global_batch_size / flags.world_size;
  const bool without_end = steps > std::numeric_limits<uint64_t>::max() / rows_per_step;
  return without_end ? 0 : steps * rows_per_step;
}

}  // namespace penstock
