// How every program parses its command line and reports mistakes in it.
#ifndef PENSTOCK_BASE_FLAGS_COMMAND_LINE_H_
#define PENSTOCK_BASE_FLAGS_COMMAND_LINE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/flags/command_page.h"

namespace CLI {
class App;
}

namespace penstock {

// Exit code for wrong options and values.
inline constexpr int kUsageExitCode = 2;

// Returns the pages of commands that a program takes as its first argument and parses with other
// Apps. It is called only for help, errors and WriteShellFiles(), and may be null.
using CommandPages = std::function<std::vector<CommandPage>()>;

// Parses the command line and runs the callbacks of `app`. Returns the exit code if the program is
// to end at once: 0 after --help, 2 if the command line is wrong.
//
// - Numbers are checked (CheckNumbers()). If an option is given more than once, the last one
//   counts, unless the option takes several values.
// - Errors go to stderr as "PROGRAM: ...", with the option that was probably meant, or with the
//   line of the --config file.
// - `PROGRAM --write-shell-files FOLDER` calls WriteShellFiles(), for people who build packages.
//
// `commands` are listed in the help.
std::optional<int> ParseCommandLine(CLI::App& app, absl::string_view program, int argc,
                                    const char* const* argv,
                                    const CommandPages& commands = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_COMMAND_LINE_H_
