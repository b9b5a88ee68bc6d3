#include "cli/pack/json_features.h"

#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/pack/table_columns.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

using Json = nlohmann::json;

// A JSON object, and its keys in the order of the text. (ordered_json looks at all keys for each.)
struct Object {
  Json values;
  std::vector<std::string> keys;
};

absl::StatusOr<Object> ParseObject(absl::string_view line) {
  Object object;
  absl::flat_hash_set<std::string> seen;
  const auto note_key = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (event != Json::parse_event_t::key || depth != 1) return true;
    const auto& key = value.get_ref<const std::string&>();
    if (seen.insert(key).second) object.keys.push_back(key);
    return true;
  };
  object.values = Json::parse(line.begin(), line.end(), note_key, /*allow_exceptions=*/false);
  if (object.values.is_discarded()) return absl::InvalidArgumentError("not valid JSON");
  if (object.values.is_object()) return object;
  return absl::InvalidArgumentError(
      absl::StrCat("must be a JSON object, not ", object.values.type_name()));
}

bool IsText(FeatureType type) { return type == FeatureType::kBytes; }

// Returns the type of the feature that `value` becomes; kNone for null and an empty array.
absl::StatusOr<FeatureType> TypeOfJson(const Json& value) {
  if (value.is_null()) return FeatureType::kNone;
  if (value.is_boolean() || value.is_number_integer()) return FeatureType::kInt64;
  if (value.is_number()) return FeatureType::kFloat;
  if (value.is_string()) return FeatureType::kBytes;
  if (!value.is_array())
    return absl::InvalidArgumentError(
        "an object cannot be stored; use a number, a string or an array of these");
  FeatureType type = FeatureType::kNone;
  for (const Json& element : value) {
    if (element.is_structured() || element.is_null()) {
      return absl::InvalidArgumentError(
          absl::StrCat("an array with ", element.is_null() ? "null" : element.type_name(),
                       "s cannot be stored"));
    }
    PENSTOCK_ASSIGN_OR_RETURN(const FeatureType next, TypeOfJson(element));
    if (type != FeatureType::kNone && IsText(type) != IsText(next)) {
      return absl::InvalidArgumentError("the array mixes text and numbers");
    }
    type = CommonType(type, next);
  }
  return type;
}

bool ToInt64(const Json& value, int64_t& number) {
  if (value.is_boolean()) {
    number = value.get<bool>();
    return true;
  }
  if (!value.is_number_integer()) return false;
  const bool large = value.is_number_unsigned() &&
                     value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  number = value.get<int64_t>();
  return !large;
}

}  // namespace

absl::Status JsonFeatures::Read(absl::string_view line) {
  PENSTOCK_ASSIGN_OR_RETURN(const Object object, ParseObject(line));
  builder_.Clear();
  for (const std::string& key : object.keys) {
    if (absl::Status status = Add(key, object.values[key]); !status.ok()) {
      return Annotate(status, absl::StrCat("key '", key, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status JsonFeatures::Add(const std::string& key, const Json& value) {
  if (columns_.chosen() && columns_.Find(key) == nullptr) return absl::OkStatus();
  if (key.empty()) return absl::InvalidArgumentError("a feature needs a name");
  PENSTOCK_ASSIGN_OR_RETURN(const FeatureType type, TypeOfJson(value));
  if (type == FeatureType::kNone) return absl::OkStatus();
  Column& column = *columns_.FindOrAdd(key);
  if (column.type == FeatureType::kNone) column.type = type;
  ints_.clear();
  floats_.clear();
  texts_.clear();
  if (!value.is_array()) PENSTOCK_RETURN_IF_ERROR(AddValue(column.type, value));
  for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
    PENSTOCK_RETURN_IF_ERROR(AddValue(column.type, value[i]));
  }
  AddFeature(column);
  return absl::OkStatus();
}

absl::Status JsonFeatures::AddValue(FeatureType type, const Json& value) {
  bool good = false;
  if (type == FeatureType::kInt64) {
    good = ToInt64(value, ints_.emplace_back());
  } else if (type == FeatureType::kFloat) {
    good = value.is_number() && NarrowToFloat(value.get<double>(), floats_.emplace_back());
  } else if (value.is_string()) {
    texts_.push_back(value.get_ref<const std::string&>());
    good = true;
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace)),
      " cannot be stored as ", FeatureTypeName(type), "; choose another type with --columns"));
}

void JsonFeatures::AddFeature(const Column& column) {
  if (column.type == FeatureType::kInt64) return builder_.AddInt64(column.name, ints_);
  if (column.type == FeatureType::kFloat) return builder_.AddFloat(column.name, floats_);
  builder_.AddBytesList(column.name, texts_);
}

void JsonSurvey::Add(absl::string_view line) {
  const absl::StatusOr<Object> object = ParseObject(line);
  if (!object.ok()) return;
  for (const std::string& key : object->keys) {
    const absl::StatusOr<FeatureType> type = TypeOfJson(object->values[key]);
    if (!type.ok() || key.empty() || columns_.FindOrAdd(key) == nullptr) continue;
    FeatureType& known = types_[key];
    const bool differ = known != FeatureType::kNone && *type != FeatureType::kNone &&
                        IsText(known) != IsText(*type);
    if (!differ) known = CommonType(known, *type);
  }
}

void JsonSurvey::Finish() {
  for (const auto& [key, type] : types_) {
    Column* column = columns_.FindOrAdd(key);
    if (column->type == FeatureType::kNone) column->type = type;
  }
}

}  // namespace penstock
