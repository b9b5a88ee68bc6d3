// The size and colours of terminals, and output that uses them.
#ifndef PENSTOCK_BASE_TERMINAL_H_
#define PENSTOCK_BASE_TERMINAL_H_

#include <cstddef>
#include <cstdio>

#include "absl/strings/string_view.h"
#include "base/print_escaped.h"

namespace penstock {

// Width of output that is made without regard to the terminal.
inline constexpr size_t kUsualColumns = 80;

// The number of rows and columns that a terminal shows.
struct TerminalSize {
  size_t rows = 24;
  size_t columns = kUsualColumns;
};

// Returns the current size of the terminal behind `descriptor`; 24 x 80 if it does not report its
// size, like a serial line, or is no terminal.
TerminalSize SizeOfTerminal(int descriptor);

// Returns the width for text that is printed once to `descriptor`: the environment variable
// COLUMNS if it is a number above 0, else the width of the terminal.
size_t ColumnsFor(int descriptor);

// True if `out` is a terminal that knows colours and the user has not set NO_COLOR
// (https://no-color.org).
bool ShowsColour(std::FILE* out);

// Prints "PROGRAM: MESSAGE" and a line feed to stderr, with the program's name in red or yellow if
// ShowsColour(). A std::string is printed on one line, a Multiline on several.
void PrintError(absl::string_view program, absl::string_view message);
void PrintError(absl::string_view program, Multiline message);
void PrintWarning(absl::string_view program, absl::string_view message);

// Prints a heading in bold, and a line feed.
void PrintTitle(std::FILE* out, absl::string_view title);

}  // namespace penstock

#endif  // PENSTOCK_BASE_TERMINAL_H_
