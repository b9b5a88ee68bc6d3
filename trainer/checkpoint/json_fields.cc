#include "trainer/checkpoint/json_fields.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

const nlohmann::json& EmptyObject() {
  static const auto* empty = new nlohmann::json(nlohmann::json::object());
  return *empty;
}

const nlohmann::json& Null() {
  static const auto* null = new nlohmann::json;
  return *null;
}

// Returns the beginning of a value, in ASCII.
std::string Shown(const nlohmann::json& value) {
  constexpr size_t kMost = 40;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  const std::string text =
      value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMost ? text : absl::StrCat(text.substr(0, kMost), "...");
}

bool IsWithin(const nlohmann::json& value, uint64_t least, uint64_t most) {
  return value.is_number_unsigned() && value.get<uint64_t>() >= least &&
         value.get<uint64_t>() <= most;
}

std::string NotWithin(const nlohmann::json& value, uint64_t least, uint64_t most) {
  return absl::StrCat(Shown(value), " is not a whole number from ", least, " to ", most);
}

}  // namespace

JsonFields::JsonFields(const nlohmann::json& json, std::string prefix, absl::Status& status)
    : object_(json.is_object() ? json : EmptyObject()),
      prefix_(std::move(prefix)),
      status_(status) {
  if (json.is_object() || !status_.ok()) return;
  const std::string name = prefix_.empty() ? "it" : prefix_.substr(0, prefix_.size() - 1);
  status_ =
      absl::DataLossError(absl::StrCat("field ", name, ": ", Shown(json), " is not an object"));
}

JsonFields JsonFields::Object(const char* name) const {
  return {Has(name) ? object_[name] : EmptyObject(), absl::StrCat(prefix_, name, "."), status_};
}

const nlohmann::json& JsonFields::At(const char* name) const {
  if (Has(name)) return object_[name];
  Refuse(name, "is missing");
  return Null();
}

void JsonFields::Read(const char* name, uint64_t& value, uint64_t least, uint64_t most) const {
  const nlohmann::json& found = At(name);
  if (!IsWithin(found, least, most)) return Refuse(name, NotWithin(found, least, most));
  value = found.get<uint64_t>();
}

void JsonFields::Read(const char* name, std::vector<uint64_t>& values, uint64_t least,
                      uint64_t most) const {
  const nlohmann::json& found = At(name);
  if (!found.is_array()) return Refuse(name, absl::StrCat(Shown(found), " is not a list"));
  for (const nlohmann::json& value : found) {
    if (!IsWithin(value, least, most)) return Refuse(name, NotWithin(value, least, most));
  }
  values = found.get<std::vector<uint64_t>>();
}

void JsonFields::Read(const char* name, double& value) const {
  const nlohmann::json& found = At(name);
  if (!found.is_number() || !std::isfinite(found.get<double>())) {
    return Refuse(name, absl::StrCat(Shown(found), " is not a finite number"));
  }
  value = found.get<double>();
}

void JsonFields::Read(const char* name, std::array<double, 3>& values) const {
  const nlohmann::json& found = At(name);
  bool fits = found.is_array() && found.size() == values.size();
  for (size_t i = 0; fits && i < values.size(); ++i) {
    fits = found[i].is_number() && std::isfinite(found[i].get<double>());
  }
  if (!fits) return Refuse(name, absl::StrCat(Shown(found), " is not a list of 3 finite numbers"));
  values = found.get<std::array<double, 3>>();
}

void JsonFields::Read(const char* name, bool& value) const {
  const nlohmann::json& found = At(name);
  if (!found.is_boolean()) {
    return Refuse(name, absl::StrCat(Shown(found), " is neither true nor false"));
  }
  value = found.get<bool>();
}

void JsonFields::Read(const char* name, std::string& value) const {
  const nlohmann::json& found = At(name);
  if (!found.is_string()) return Refuse(name, absl::StrCat(Shown(found), " is not a string"));
  value = found.get<std::string>();
}

void JsonFields::Read(const char* name, std::vector<std::string>& values, size_t count) const {
  const nlohmann::json& found = At(name);
  const bool fits = found.is_array() && found.size() == count &&
                    std::all_of(found.begin(), found.end(),
                                [](const nlohmann::json& value) { return value.is_string(); });
  if (!fits)
    return Refuse(name, absl::StrCat(Shown(found), " is not a list of ", count, " strings"));
  values = found.get<std::vector<std::string>>();
}

void JsonFields::Refuse(const std::string& name, const std::string& why) const {
  if (!status_.ok()) return;
  status_ = absl::DataLossError(absl::StrCat("field ", prefix_, name, ": ", why));
}

}  // namespace penstock
