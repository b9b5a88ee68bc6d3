// The flags that say what to read, in which order and from whom, as a trainer has them.
#ifndef PENSTOCK_CLI_STREAM_LOADER_FLAGS_H_
#define PENSTOCK_CLI_STREAM_LOADER_FLAGS_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "client/flags/source_flags.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/loader.h"

namespace penstock {

struct LoaderFlags {
  std::string manifest;
  SourceFlags source;
  // Defaults are those of penstock-train, so that its digests and steps are these.
  std::string dtype = kAutoDtype;
  std::string split = "train";
  std::string cursor;
  std::string memory_budget = "0";
  uint64_t global_batch_size = 256;
  uint64_t seed = 0;
  uint64_t epochs = 1;
  uint64_t steps = 0;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t threads = 0;
};

// `flags` must outlive `command`. Sets the group of the options that are added next.
void AddLoaderFlags(CLI::App& command, LoaderFlags& flags);

// --steps, of a command that reads more than one.
void AddStepsFlag(CLI::App& command, LoaderFlags& flags);

// UsageError() for flags that do not fit together; everything but the manifest is filled in, and
// the spec if --spec names one; a dtype of "auto" is ChooseSpecOf()'s. Prints on stderr what an
// operator should know besides.
absl::StatusOr<LoaderOptions> ToLoaderOptions(const LoaderFlags& flags);

// Turns the error of a loader or its plan into a UsageError() where a flag is wrong, and names
// --cursor if it is that one. Other errors stay as they are.
absl::Status UsageErrorOf(const absl::Status& failed);

// About how many rows this rank will read, for a bar; `steps_left` is Loader's. 0: without end.
uint64_t RowsToRead(const LoaderFlags& flags, uint64_t steps_left);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_LOADER_FLAGS_H_
