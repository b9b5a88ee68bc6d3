// Makes a tf.train.Example from a JSON object.
#ifndef PENSTOCK_CLI_PACK_JSON_FEATURES_H_
#define PENSTOCK_CLI_PACK_JSON_FEATURES_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/pack/columns.h"
#include "nlohmann/json_fwd.hpp"
#include "records/format/example_writer.h"

namespace penstock {

// Numbers, strings and arrays of them become the values of a feature; true and false become 1 and
// 0. A key whose value is null or an empty array is no feature. Not thread-safe.
class JsonFeatures {
 public:
  // `columns` must outlive this, which adds missing keys and types to it.
  explicit JsonFeatures(Columns& columns) : columns_(columns) {}

  // kInvalidArgument: the line is not a JSON object, or a value is an object, an array of arrays or
  // of mixed types, or not of its key's type.
  absl::Status Read(absl::string_view line);
  // Returns the record of the last line, valid until the next call of Read().
  std::span<const uint8_t> Serialize() { return builder_.Serialize(); }

 private:
  absl::Status Add(const std::string& key, const nlohmann::json& value);
  absl::Status AddValue(FeatureType type, const nlohmann::json& value);
  void AddFeature(const Column& column);

  Columns& columns_;
  ExampleBuilder builder_;

  // The values of the feature that is being read.
  std::vector<int64_t> ints_;
  std::vector<float> floats_;
  std::vector<absl::string_view> texts_;
};

// Finds the types of keys from some lines.
class JsonSurvey {
 public:
  // `columns` must outlive this.
  explicit JsonSurvey(Columns& columns) : columns_(columns) {}

  // Adds the keys of a line to the columns. A line that JsonFeatures refuses adds nothing.
  void Add(absl::string_view line);
  // Sets the types of columns that have none. A column of text and numbers gets the type of its
  // first value.
  void Finish();

 private:
  Columns& columns_;
  std::map<std::string, FeatureType> types_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_JSON_FEATURES_H_
