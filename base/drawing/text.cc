#include "base/drawing/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

constexpr char32_t kBroken = 0xfffd;

// The number of bytes of the UTF-8 character that begins with this byte; 0 if no character does.
size_t Utf8Size(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

// Returns the number of bytes of the first character, at least 1, and stores the character in
// `character`.
size_t ReadCharacter(absl::string_view text, char32_t& character) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t size = Utf8Size(first);
  character = kBroken;
  if (size == 0 || size > text.size()) return 1;
  char32_t value = size == 1 ? first : first & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80) return 1;
    value = value << 6 | (next & 0x3f);
  }
  character = value;
  return size;
}

// The number of bytes of the longest prefix that is at most `width` pixels wide.
size_t FittingBytes(absl::string_view text, int scale, int width) {
  int used = -kGlyphGap * scale;
  size_t at = 0;
  while (at < text.size()) {
    char32_t character;
    const size_t size = ReadCharacter(text.substr(at), character);
    used += (GlyphOf(character).width + kGlyphGap) * scale;
    if (used > width) break;
    at += size;
  }
  return at;
}

// The number of bytes of the first line. A line ends after a word, or within a word that is longer
// than a line.
size_t LineBytes(absl::string_view text, int scale, int width) {
  const size_t fitting = FittingBytes(text, scale, width);
  if (fitting == text.size() || text[fitting] == ' ') return fitting;
  const size_t space = text.substr(0, fitting).rfind(' ');
  return space == absl::string_view::npos || space == 0 ? std::max<size_t>(fitting, 1) : space;
}

}  // namespace

std::u32string ReadUtf8(absl::string_view text) {
  std::u32string characters;
  while (!text.empty()) {
    char32_t character;
    text.remove_prefix(ReadCharacter(text, character));
    characters.push_back(character);
  }
  return characters;
}

int TextWidth(absl::string_view text, int scale) {
  int width = 0;
  for (const char32_t character : ReadUtf8(text)) width += GlyphOf(character).width + kGlyphGap;
  return std::max(width - kGlyphGap, 0) * scale;
}

std::string Shortened(absl::string_view text, int scale, int width) {
  if (TextWidth(text, scale) <= width) return std::string(text);
  const int dots = TextWidth("...", scale) + kGlyphGap * scale;
  return absl::StrCat(text.substr(0, FittingBytes(text, scale, width - dots)), "...");
}

std::vector<std::string> Wrapped(absl::string_view text, int scale, int width, size_t lines) {
  std::vector<std::string> wrapped;
  while (!text.empty() && wrapped.size() + 1 < lines) {
    const size_t bytes = LineBytes(text, scale, width);
    wrapped.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
    while (absl::ConsumePrefix(&text, " ")) continue;
  }
  if (!text.empty() && lines > 0) wrapped.push_back(Shortened(text, scale, width));
  return wrapped;
}

}  // namespace penstock
