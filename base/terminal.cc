#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"

namespace penstock {

TerminalSize SizeOfTerminal(int descriptor) {
  winsize told;
  if (ioctl(descriptor, TIOCGWINSZ, &told) != 0 || told.ws_row == 0 || told.ws_col == 0) return {};
  return {.rows = told.ws_row, .columns = told.ws_col};
}

size_t ColumnsFor(int descriptor) {
  const char* set = std::getenv("COLUMNS");
  uint32_t columns = 0;
  if (set != nullptr && absl::SimpleAtoi(set, &columns) && columns > 0) return columns;
  return SizeOfTerminal(descriptor).columns;
}

bool ShowsColour(std::FILE* out) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || absl::string_view(terminal) == "dumb") return false;
  return isatty(fileno(out)) == 1;
}

void PrintError(absl::string_view program, absl::string_view message) {
  PrintError(program, Multiline(Escaped(message)));
}

void PrintError(absl::string_view program, Multiline message) {
  if (ShowsColour(stderr)) {
    PrintEscaped(stderr, "\x1b[1;31m%s:\x1b[0m %s\n", program, message);
  } else {
    PrintEscaped(stderr, "%s: %s\n", program, message);
  }
}

void PrintWarning(absl::string_view program, absl::string_view message) {
  if (ShowsColour(stderr)) {
    PrintEscaped(stderr, "\x1b[33m%s:\x1b[0m %s\n", program, message);
  } else {
    PrintEscaped(stderr, "%s: %s\n", program, message);
  }
}

void PrintTitle(std::FILE* out, absl::string_view title) {
  if (ShowsColour(out)) {
    PrintEscaped(out, "\x1b[1m%s\x1b[0m\n", title);
  } else {
    PrintEscaped(out, "%s\n", title);
  }
}

}  // namespace penstock
