// What penstock-train can be told to watch, and to leave out so that its cost is seen.
#ifndef PENSTOCK_TRAINER_APP_PROFILE_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_PROFILE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct ProfileOptions {
  std::string steps = {};  // "500:520"; empty: none.
  std::string file = "penstock-trace.json";
  bool synthetic_data = false;
  uint64_t replay_batches = 0;
  bool no_allreduce = false;

  // Where a rank's trace goes: rank 0's to `file`; of "trace.json" rank 1's to "trace.rank1.json".
  std::string FileOf(uint32_t rank) const;

  // Half of the steps are no training: nothing may be saved.
  bool diagnoses() const { return synthetic_data || replay_batches > 0 || no_allreduce; }

  // kInvalidArgument names the option.
  absl::Status Validate() const;
};

// Steps of a diagnosis: two of each half, of which the first counts for nothing.
inline constexpr uint64_t kLeastDiagnosedSteps = 4;

// [first, last) of "first:last", steps counted from 1. kInvalidArgument: not that, or empty.
absl::StatusOr<std::pair<uint64_t, uint64_t>> ParseStepRange(absl::string_view text);

// `options` must outlive `app`. Sets the group of the options that are added next.
void AddProfileOptions(CLI::App& app, ProfileOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PROFILE_OPTIONS_H_
