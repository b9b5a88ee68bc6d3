// Options of horovodrun, perseusrun and mpirun that `penstock launch` does not have itself, so that
// it accepts their command lines.
#ifndef PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_
#define PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

struct ForeignOption {
  enum class Kind {
    // Accepted without effect, and reported. If `why` is empty, it is not reported, because what it
    // asks for holds anyway.
    kNoEffect,
    kMpirun,      // Passed to mpirun.
    kMpirunText,  // Its value contains options for mpirun.
    kRefused,
  };
  absl::string_view name;  // The name, with two dashes.
  int values;              // Number of words that follow it.
  Kind kind;
  absl::string_view why;  // The reason, or what to use instead.
};

// Finds an option by its name with one dash or two. Returns null if there is none.
const ForeignOption* FindForeignOption(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_
