#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr size_t kUsualColumns = 80;

const char* Sequence(Style style) {
  switch (style) {
    case Style::kBold:
      return "\x1b[1m";
    case Style::kRed:
      return "\x1b[1;31m";
    case Style::kYellow:
      return "\x1b[33m";
  }
  return "";
}

}  // namespace

size_t TerminalColumns(std::FILE* out) {
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

bool ShowsColour(std::FILE* out) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || absl::string_view(terminal) == "dumb") return false;
  return isatty(fileno(out)) == 1;
}

std::string Styled(absl::string_view text, Style style, std::FILE* out) {
  if (!ShowsColour(out)) return std::string(text);
  return absl::StrCat(Sequence(style), text, "\x1b[0m");
}

}  // namespace penstock
