#include "base/wrap_words.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Returns how many bytes of `text` fit on a line of `columns`. REQUIRES: `text` is longer than the
// line.
size_t LineEnd(absl::string_view text, size_t columns) {
  const size_t space = text.rfind(' ', columns);
  const bool parted = space != text.npos && text.find_first_not_of(' ') < space;
  return parted ? space : columns;
}

absl::string_view WithoutSpacesInFront(absl::string_view text) {
  return text.substr(std::min(text.size(), text.find_first_not_of(' ')));
}

}  // namespace

std::vector<std::string> WrapWords(absl::string_view text, size_t columns, size_t indent) {
  std::vector<std::string> lines;
  std::string begin;
  while (begin.size() + text.size() > columns) {
    const size_t end = LineEnd(text, columns - begin.size());
    lines.push_back(absl::StrCat(begin, text.substr(0, end)));
    text = WithoutSpacesInFront(text.substr(end));
    begin = std::string(indent, ' ');
  }
  if (lines.empty() || !text.empty()) lines.push_back(absl::StrCat(begin, text));
  return lines;
}

}  // namespace penstock
