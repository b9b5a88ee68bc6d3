#include "client/plan/cursor.h"

#include <charconv>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr absl::string_view kPrefix = "ps1-";
constexpr size_t kHexDigits = 16;

// Takes a decimal number, without sign or leading zeros, from the front of `text`.
bool TakeDecimal(absl::string_view& text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const size_t digits = static_cast<size_t>(end - text.data());
  if (error != std::errc() || (digits > 1 && text[0] == '0')) return false;
  text.remove_prefix(digits);
  return true;
}

bool TakeFingerprint(absl::string_view& text, uint64_t& number) {
  const absl::string_view digits = text.substr(0, kHexDigits);
  if (digits.size() != kHexDigits || digits.find_first_not_of("0123456789abcdef") != digits.npos) {
    return false;
  }
  std::from_chars(digits.data(), digits.data() + kHexDigits, number, 16);
  text.remove_prefix(kHexDigits);
  return true;
}

bool TakeDash(absl::string_view& text) {
  if (text.empty() || text[0] != '-') return false;
  text.remove_prefix(1);
  return true;
}

bool TakeCursor(absl::string_view text, Cursor& cursor) {
  if (text.substr(0, kPrefix.size()) != kPrefix) return false;
  text.remove_prefix(kPrefix.size());
  return TakeFingerprint(text, cursor.order_fingerprint) && TakeDash(text) &&
         TakeDecimal(text, cursor.epoch) && TakeDash(text) && TakeDecimal(text, cursor.position) &&
         text.empty();
}

}  // namespace

std::string Cursor::ToString() const {
  return absl::StrCat(kPrefix, absl::Hex(order_fingerprint, absl::kZeroPad16), "-", epoch, "-",
                      position);
}

absl::StatusOr<Cursor> Cursor::Parse(absl::string_view text) {
  Cursor cursor;
  if (TakeCursor(text, cursor)) return cursor;
  constexpr size_t kShown = 64;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", absl::CHexEscape(text.substr(0, kShown)), text.size() > kShown ? "...'" : "'",
      " is not a cursor; a cursor is ps1-FINGERPRINT-EPOCH-POSITION, e.g. "
      "ps1-0123456789abcdef-3-81920"));
}

}  // namespace penstock
