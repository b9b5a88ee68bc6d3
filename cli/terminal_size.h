// How much a terminal shows.
#ifndef PENSTOCK_CLI_TERMINAL_SIZE_H_
#define PENSTOCK_CLI_TERMINAL_SIZE_H_

#include <cstddef>

namespace penstock {

// The width for which tables are made.
inline constexpr size_t kUsualColumns = 80;

struct TerminalSize {
  size_t rows = 24;
  size_t columns = kUsualColumns;
};

// Of the terminal behind `descriptor`, now; where it does not tell, as a serial line: 24 x 80.
TerminalSize SizeOfTerminal(int descriptor);

}  // namespace penstock

#endif  // PENSTOCK_CLI_TERMINAL_SIZE_H_
