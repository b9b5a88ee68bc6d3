// The command `help`: `PROGRAM help COMMAND...` prints what `PROGRAM COMMAND... --help` does.
#ifndef PENSTOCK_BASE_FLAGS_HELP_COMMAND_H_
#define PENSTOCK_BASE_FLAGS_HELP_COMMAND_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace penstock {

inline constexpr char kHelpCommand[] = "help";
inline constexpr char kHelpDescription[] = "Show a command's options and an example";

// Adds the argument of `help` to its App. The App runs nothing: WithHelpAsOption() replaces the
// command wherever it would run.
void AddHelpArgument(CLI::App& help);

// Returns the command line with `help COMMAND...` replaced by `COMMAND... --help`. `help --help`,
// which asks for the help of `help` itself, stays as it is. `argv` must outlive the result.
std::vector<const char*> WithHelpAsOption(int argc, const char* const* argv);

// Returns "chess generate" for `PROGRAM help chess generate`; "" if the first argument is not
// `help`, or if no word follows it.
std::string CommandOfHelp(int argc, const char* const* argv);

// Returns the message that there is no command `name`. It lists `commands`, which may be empty, and
// says which of them was probably meant.
std::string NoSuchCommand(absl::string_view name, const std::vector<std::string>& commands);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_HELP_COMMAND_H_
