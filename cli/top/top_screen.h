// Fits the output of `penstock top` into a terminal.
#ifndef PENSTOCK_CLI_TOP_TOP_SCREEN_H_
#define PENSTOCK_CLI_TOP_TOP_SCREEN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/terminal.h"
#include "cli/top/top_table.h"

namespace penstock {

// Returns the lines of MakeTopTable() and below them, unless it is OK, `missing`: the reason why
// there may be more servers. They fit into `size`, whose last row is left for the cursor. If there
// are too many lines, servers that are down come first, then other servers, then clients; one line
// gives the number of those left out. A long cause takes at most three lines.
std::vector<std::string> TopScreen(const TopTable& table, const absl::Status& missing,
                                   const TerminalSize& size);

}  // namespace penstock

#endif  // PENSTOCK_CLI_TOP_TOP_SCREEN_H_
