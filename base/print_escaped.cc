#include "base/print_escaped.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0 if the text does not begin with valid UTF-8.
};

// Decodes the character at the front of `text`. REQUIRES: `text` is not empty.
Character TakeCharacter(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t code = first & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

// Whether a terminal does something other than show the character: C0, DEL, C1, line and paragraph
// separators, and characters that change the direction of text.
bool IsControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string EscapeOf(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  return code < 0x80 ? absl::StrCat("\\x", absl::Hex(code, absl::kZeroPad2))
                     : absl::StrCat("\\u", absl::Hex(code, absl::kZeroPad4));
}

std::string Escape(absl::string_view text, bool keep_lines) {
  std::string escaped;
  while (!text.empty()) {
    const Character character = TakeCharacter(text);
    const bool stays = keep_lines && (text[0] == '\n' || text[0] == '\t');
    if (character.bytes == 0) {
      absl::StrAppend(&escaped, "\\x", absl::Hex(static_cast<uint8_t>(text[0]), absl::kZeroPad2));
    } else if (IsControl(character.code) && !stays) {
      escaped += EscapeOf(character.code);
    } else {
      escaped.append(text.data(), character.bytes);
    }
    text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
  }
  return escaped;
}

}  // namespace

std::string Escaped(absl::string_view text) { return Escape(text, /*keep_lines=*/false); }

std::string Escaped(Multiline text) { return Escape(text.text, /*keep_lines=*/true); }

}  // namespace penstock
