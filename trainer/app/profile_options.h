// The options of penstock-train for traces, and for diagnoses that leave a cost out to measure it.
#ifndef PENSTOCK_TRAINER_APP_PROFILE_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_PROFILE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace penstock {

struct ProfileOptions {
  std::string steps = {};  // Steps to trace, as "500:520"; none if empty.
  std::string file = "penstock-trace.json";
  bool synthetic_data = false;
  uint64_t replay_batches = 0;
  bool no_allreduce = false;

  // The trace file of a rank. Rank 0 writes `file`; for "trace.json", rank 1 writes
  // "trace.rank1.json".
  std::string FileOf(uint32_t rank) const;

  // Whether this is a diagnosis. Half of its steps do not train, so nothing may be saved.
  bool diagnoses() const { return synthetic_data || replay_batches > 0 || no_allreduce; }

  // kInvalidArgument: the message names the option.
  absl::Status Validate() const;
};

// The fewest steps of a diagnosis. Each of its halves needs two, because the first does not count.
inline constexpr uint64_t kLeastDiagnosedSteps = 4;

// Parses "first:last" into [first, last), with steps counted from 1. kInvalidArgument: another
// form, or an empty range.
absl::StatusOr<std::pair<uint64_t, uint64_t>> ParseStepRange(absl::string_view text);

// `options` must outlive `app`. Sets the group of the options that are added next.
void AddProfileOptions(CLI::App& app, ProfileOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_PROFILE_OPTIONS_H_
