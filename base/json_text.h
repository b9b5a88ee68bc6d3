// Writes any JSON value as text, even if its strings are not UTF-8.
#ifndef PENSTOCK_BASE_JSON_TEXT_H_
#define PENSTOCK_BASE_JSON_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock {

// Returns `json` on one line, or indented by `indent` spaces. Names of files and servers may be
// invalid UTF-8: each invalid byte sequence becomes U+FFFD, where dump() alone would throw. DEL and
// U+0080 to U+009F are escaped like the other control characters, so that a terminal can show the
// text.
template <typename Json>
std::string JsonText(const Json& json, int indent = -1) {
  const std::string text =
      json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool c1 = text[i] == '\xc2' && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) ++i;
    if (c1 || text[i] == '\x7f') {
      absl::StrAppend(&escaped, "\\u", absl::Hex(static_cast<uint8_t>(text[i]), absl::kZeroPad4));
    } else {
      escaped += text[i];
    }
  }
  return escaped;
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_JSON_TEXT_H_
