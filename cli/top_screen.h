// What of `penstock top` a terminal has room for.
#ifndef PENSTOCK_CLI_TOP_SCREEN_H_
#define PENSTOCK_CLI_TOP_SCREEN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/terminal_size.h"
#include "cli/top_table.h"

namespace penstock {

// The lines of MakeTopTable(), and below them, unless OK, `missing`: why there may be more servers.
// They fit into `size`, whose last row is the cursor's: no more of them, and none is wider. Where
// there are too many, servers that are down come first, then those that are left, then clients; a
// line tells how many more there are. A long cause takes three lines.
std::vector<std::string> TopScreen(const TopTable& table, const absl::Status& missing,
                                   const TerminalSize& size);

}  // namespace penstock

#endif  // PENSTOCK_CLI_TOP_SCREEN_H_
