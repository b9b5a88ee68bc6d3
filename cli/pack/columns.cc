#include "cli/pack/columns.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace penstock {
namespace {

absl::StatusOr<FeatureType> ParseType(absl::string_view name) {
  for (const FeatureType type : {FeatureType::kInt64, FeatureType::kFloat, FeatureType::kBytes}) {
    if (name == FeatureTypeName(type)) return type;
  }
  return absl::InvalidArgumentError(absl::StrCat("type '", name, "' is not int64, float or bytes"));
}

bool IsWholeNumber(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

absl::StatusOr<Columns> Columns::Parse(absl::string_view text) {
  Columns columns;
  if (text.empty()) return columns;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const size_t colon = part.rfind(':');
    Column column{std::string(part.substr(0, colon))};
    if (colon != part.npos) {
      PENSTOCK_ASSIGN_OR_RETURN(column.type, ParseType(part.substr(colon + 1)));
    }
    if (column.name.empty())
      return absl::InvalidArgumentError("a column has no name; write NAME or NAME:TYPE");
    if (columns.Find(column.name) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("column '", column.name, "' is named twice"));
    }
    columns.numbers_[column.name] = columns.columns_.size();
    columns.columns_.push_back(std::move(column));
  }
  columns.chosen_ = true;
  return columns;
}

const Column* Columns::Find(absl::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? nullptr : &columns_[found->second];
}

Column* Columns::FindOrAdd(absl::string_view name) {
  if (chosen_ && !numbers_.contains(name)) return nullptr;
  const auto [found, added] = numbers_.try_emplace(std::string(name), columns_.size());
  if (added) columns_.push_back({std::string(name)});
  return &columns_[found->second];
}

std::string Columns::Text() const {
  return absl::StrJoin(columns_, ",", [](std::string* out, const Column& column) {
    absl::StrAppend(out, column.name);
    if (column.type != FeatureType::kNone) {
      absl::StrAppend(out, ":", FeatureTypeName(column.type));
    }
  });
}

FeatureType CommonType(FeatureType a, FeatureType b) {
  if (a == FeatureType::kNone || a == b) return b;
  if (b == FeatureType::kNone) return a;
  const bool text = a == FeatureType::kBytes || b == FeatureType::kBytes;
  return text ? FeatureType::kBytes : FeatureType::kFloat;
}

FeatureType TypeOfCell(absl::string_view cell) {
  if (cell.empty()) return FeatureType::kNone;
  int64_t whole = 0;
  if (ParseInt64(cell, whole)) return FeatureType::kInt64;
  float number = 0;
  const bool is_float = !IsWholeNumber(cell) && ParseFloat(cell, number);
  return is_float ? FeatureType::kFloat : FeatureType::kBytes;
}

bool ParseInt64(absl::string_view text, int64_t& value) { return absl::SimpleAtoi(text, &value); }

// Parses a double first. A number too large for a double becomes infinite there, and only the text
// shows whether infinity is meant.
bool ParseFloat(absl::string_view text, float& value) {
  double number = 0;
  // Tables have no hexadecimal numbers, so such text is no number.
  const bool hexadecimal = text.find_first_of("xX") != text.npos;
  if (hexadecimal || !absl::SimpleAtod(text, &number)) return false;
  const bool says_infinity = text.find_first_of("iI") != text.npos;
  if (std::isinf(number) && !says_infinity) return false;
  return NarrowToFloat(number, value);
}

bool NarrowToFloat(double number, float& value) {
  value = static_cast<float>(number);
  return std::isinf(number) || !std::isinf(value);
}

}  // namespace penstock
