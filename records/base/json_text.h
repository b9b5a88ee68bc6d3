// JSON that always can be written.
#ifndef PENSTOCK_RECORDS_BASE_JSON_TEXT_H_
#define PENSTOCK_RECORDS_BASE_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace penstock {

// On one line, or indented. Names of files and servers need not be UTF-8: what is not becomes
// U+FFFD, where dump() alone would throw.
template <typename Json>
std::string JsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_BASE_JSON_TEXT_H_
