// What every program does with its command line: one way to say what is wrong with it.
#ifndef PENSTOCK_BASE_FLAGS_COMMAND_LINE_H_
#define PENSTOCK_BASE_FLAGS_COMMAND_LINE_H_

#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"

namespace penstock {

// Wrong options and values.
inline constexpr int kUsageExitCode = 2;

// The one of `names` that was meant by `word`; empty: none is much like it.
std::string Nearest(absl::string_view word, const std::vector<std::string>& names);

// Adds CheckNumbers() to what `app` checks, parses, and runs what it calls back. If an
// option is given more than once, the last one counts, unless it takes several values. A code to
// exit with, if the program is to end at once: 0 after --help, 2 where something is wrong. That is
// told on stderr as "PROGRAM: ...", with the option that was meant, or the line of the --config
// file. `commands`: words that the program would have taken as its first argument.
std::optional<int> ParseCommandLine(CLI::App& app, absl::string_view program, int argc,
                                    const char* const* argv,
                                    const std::vector<std::string>& commands = {});

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_COMMAND_LINE_H_
