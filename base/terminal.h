// What a terminal can show.
#ifndef PENSTOCK_BASE_TERMINAL_H_
#define PENSTOCK_BASE_TERMINAL_H_

#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// The columns of the terminal that `out` writes to; 80 if it is no terminal.
size_t TerminalColumns(std::FILE* out);

// True if `out` is a terminal that knows colours and the user has not set NO_COLOR
// (https://no-color.org).
bool ShowsColour(std::FILE* out);

enum class Style { kBold, kRed, kYellow };

// `text`, which holds no escape sequences, in a style; unchanged unless ShowsColour(out).
std::string Styled(absl::string_view text, Style style, std::FILE* out);

}  // namespace penstock

#endif  // PENSTOCK_BASE_TERMINAL_H_
