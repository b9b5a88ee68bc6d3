// CLI11's messages about a wrong command line, in plain words.
#ifndef PENSTOCK_BASE_FLAGS_PARSE_MESSAGE_H_
#define PENSTOCK_BASE_FLAGS_PARSE_MESSAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace penstock {

// The name that `word` most likely misspells; empty if no name is similar. `word` may also misspell
// a part of one name: "bath-size" means "global-batch-size".
std::string Nearest(absl::string_view word, const std::vector<std::string>& names);

// Returns "; did you mean --cups?", or "" if no name is similar. `mark` is "--" for options, and ""
// for other words.
std::string Meant(absl::string_view mark, absl::string_view word,
                  const std::vector<std::string>& names);

// Says which option or value is wrong and what to give instead. `command`: the command that was
// given. `commands`: those that it takes beside its subcommands. Messages of the project's own
// checks come back unchanged.
std::string PlainMessage(const CLI::App& command, const CLI::ParseError& error,
                         const std::vector<std::string>& commands);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_PARSE_MESSAGE_H_
