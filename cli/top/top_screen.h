// What of `penstock top` a terminal has room for.
#ifndef PENSTOCK_CLI_TOP_TOP_SCREEN_H_
#define PENSTOCK_CLI_TOP_TOP_SCREEN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/top/top_table.h"

namespace penstock {

// How much a terminal shows.
// The width for which tables are made.
inline constexpr size_t kUsualColumns = 80;

struct TerminalSize {
  size_t rows = 24;
  size_t columns = kUsualColumns;
};

// Returns the size of the terminal behind `descriptor` now; 24 x 80 if it does not tell its size,
// as a serial line does not.
TerminalSize SizeOfTerminal(int descriptor);

// The lines of MakeTopTable(), and below them, unless OK, `missing`: why there may be more servers.
// They fit into `size`, whose last row is the cursor's: no more of them, and none is wider. Where
// there are too many, servers that are down come first, then those that are left, then clients; a
// line tells how many more there are. A long cause takes three lines.
std::vector<std::string> TopScreen(const TopTable& table, const absl::Status& missing,
                                   const TerminalSize& size);

}  // namespace penstock

#endif  // PENSTOCK_CLI_TOP_TOP_SCREEN_H_
