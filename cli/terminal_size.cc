#include "cli/terminal_size.h"

#include <sys/ioctl.h>

namespace penstock {

TerminalSize SizeOfTerminal(int descriptor) {
  winsize told;
  if (ioctl(descriptor, TIOCGWINSZ, &told) != 0 || told.ws_row == 0 || told.ws_col == 0) return {};
  return {.rows = told.ws_row, .columns = told.ws_col};
}

}  // namespace penstock
