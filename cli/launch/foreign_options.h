// Options of horovodrun, perseusrun and mpirun that `penstock launch` has not, so that their lines
// can be given to it.
#ifndef PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_
#define PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

struct ForeignOption {
  enum class Kind {
    kNoEffect,    // Taken and told of, but where `why` is empty: what it asks for is so anyhow.
    kMpirun,      // Passed to mpirun.
    kMpirunText,  // Its value is options for mpirun.
    kRefused,
  };
  absl::string_view name;  // With two dashes.
  int values;              // Words that follow it.
  Kind kind;
  absl::string_view why;  // Or what to use.
};

// By its name with one dash or two; null: there is none.
const ForeignOption* FindForeignOption(absl::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_FOREIGN_OPTIONS_H_
