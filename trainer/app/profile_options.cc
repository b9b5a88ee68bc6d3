#include "trainer/app/profile_options.h"

#include <filesystem>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<std::pair<uint64_t, uint64_t>> ParseStepRange(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  uint64_t first = 0, last = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &first) ||
      !absl::SimpleAtoi(parts[1], &last) || first >= last) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--profile-steps \"", text,
        "\" is not FIRST:LAST with FIRST below LAST; 500:520 traces steps 500 to 519"));
  }
  return std::make_pair(first, last);
}

std::string ProfileOptions::FileOf(uint32_t rank) const {
  if (rank == 0) return file;
  std::filesystem::path path = file;
  return path.replace_extension(absl::StrCat("rank", rank, path.extension().string()));
}

absl::Status ProfileOptions::Validate() const {
  if (!steps.empty()) PENSTOCK_RETURN_IF_ERROR(ParseStepRange(steps).status());
  if (int{synthetic_data} + int{replay_batches > 0} + int{no_allreduce} > 1) {
    return absl::InvalidArgumentError(
        "--synthetic-data, --replay-batches and --no-allreduce cannot be combined; give one of "
        "them");
  }
  return absl::OkStatus();
}

void AddProfileOptions(CLI::App& app, ProfileOptions& options) {
  app.option_defaults()->group("Tuning");
  app.add_option("--profile-steps", options.steps,
                 "Steps to trace; 500:520 traces steps 500 to 519")
      ->type_name("RANGE");
  app.add_option(
         "--profile-file", options.file,
         "File of the trace, for ui.perfetto.dev; rank 1 writes trace.rank1.json for trace.json")
      ->type_name("FILE");
  app.add_flag("--synthetic-data", options.synthetic_data,
               "Diagnosis: half of the steps use synthetic records");
  app.add_option("--replay-batches", options.replay_batches,
                 "Diagnosis: half of the steps use this many batches from memory; 0: off");
  app.add_flag("--no-allreduce", options.no_allreduce,
               "Diagnosis: half of the steps exchange no gradients");
}

}  // namespace penstock
