// Options of horovodrun, perseusrun and mpirun that `penstock launch` does not have itself, so that
// it accepts their command lines.
#ifndef PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_
#define PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

struct ForeignOption {
  enum class Kind {
    kNoEffect,    // Accepted, and reported unless `why` is empty: then it holds anyway.
    kMpirun,      // Passed to mpirun.
    kMpirunText,  // Its value contains options for mpirun.
    kRefused,
  };
  absl::string_view name;  // With two dashes.
  int values;              // Number of words that follow it.
  Kind kind;
  absl::string_view why;  // Or what to use instead.
};

// Finds an option by its name with one dash or two. Null: there is none.
const ForeignOption* FindForeignOption(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_
