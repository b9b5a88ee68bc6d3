// Reads fields of a JSON object with untrusted content.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_JSON_FIELDS_H_
#define PENSTOCK_TRAINER_CHECKPOINT_JSON_FIELDS_H_

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace penstock {

// Larger numbers are not exact in every JSON reader.
inline constexpr uint64_t kMostJsonCount = uint64_t{1} << 53;

// Checks the type and range of each field that it reads. The first wrong field sets `status` to
// kDataLoss: "field model.layers: -1 is not a whole number from 1 to 4096". A wrong field leaves
// its value unchanged, so that you can read on and check the status at the end. Not thread-safe.
class JsonFields {
 public:
  // `json` and `status` must outlive this object. `prefix` precedes names in errors: "model.".
  JsonFields(const nlohmann::json& json, std::string prefix, absl::Status& status);

  bool Has(const char* name) const { return object_.contains(name); }
  // Returns a member that is an object with its own fields. A missing object counts as empty.
  JsonFields Object(const char* name) const;
  // Returns the raw value, or null if it is missing, which is an error.
  const nlohmann::json& At(const char* name) const;

  // Reads a whole number from `least` to `most`, or a list of them.
  void Read(const char* name, uint64_t& value, uint64_t least, uint64_t most) const;
  void Read(const char* name, std::vector<uint64_t>& values, uint64_t least, uint64_t most) const;
  void Read(const char* name, double& value) const;                  // Must be finite.
  void Read(const char* name, std::array<double, 3>& values) const;  // All must be finite.
  void Read(const char* name, bool& value) const;
  void Read(const char* name, std::string& value) const;
  // Reads a list of `count` texts.
  void Read(const char* name, std::vector<std::string>& values, size_t count) const;

  // Does the same, but a missing field leaves `value` unchanged.
  template <typename Value, typename... Range>
  void ReadIfThere(const char* name, Value& value, Range... range) const {
    if (Has(name)) Read(name, value, range...);
  }

  // Sets `status`: "field NAME: WHY".
  void Refuse(const std::string& name, const std::string& why) const;

 private:
  const nlohmann::json& object_;
  const std::string prefix_;
  absl::Status& status_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_JSON_FIELDS_H_
