// The flags that say what to read, in which order and from which servers. They are the same as a
// trainer's.
#ifndef PENSTOCK_CLI_STREAM_LOADER_FLAGS_H_
#define PENSTOCK_CLI_STREAM_LOADER_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/flags/source_flags.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/loader.h"

namespace CLI {
class App;
}

namespace penstock {

struct LoaderFlags {
  std::string manifest;
  SourceFlags source;
  // The defaults are those of penstock-train, so that digests and steps match.
  std::string dtype = kAutoDtype;
  std::string split = "train";
  std::string cursor;
  std::string memory_budget = "0";
  uint64_t global_batch_size = 256;
  uint64_t seed = 0;
  std::optional<uint64_t> epochs;  // Absent if it was not given; see EpochsToRead().
  uint64_t steps = 0;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t threads = 0;
};

// `flags` must outlive `command`. Sets the group of the options that are added next.
void AddLoaderFlags(CLI::App& command, LoaderFlags& flags);

// Adds --steps, for a command that reads more than one step.
void AddStepsFlag(CLI::App& command, LoaderFlags& flags);

// Fills in everything except the manifest, the spec unless --spec names one, and a dtype of "auto",
// which ChooseSpecOf() decides. Prints warnings on stderr. UsageError(): flags do not fit together.
absl::StatusOr<LoaderOptions> ToLoaderOptions(const LoaderFlags& flags);

// Turns an error of a loader or its plan into a UsageError() if a flag is wrong. Names --cursor if
// that is the wrong flag. Other errors stay as they are.
absl::Status UsageErrorOf(const absl::Status& failed);

// Returns the value of --epochs. If it was not given, returns as many as --steps needs (0), or 1
// without --steps.
uint64_t EpochsToRead(const LoaderFlags& flags);

// Returns the approximate number of rows that this rank will read, for a progress bar; 0 if there
// is no end. `steps_left` is that of Loader.
uint64_t RowsToRead(const LoaderFlags& flags, uint64_t steps_left);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_LOADER_FLAGS_H_
