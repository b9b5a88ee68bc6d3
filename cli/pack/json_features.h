// A JSON object as a tf.train.Example.
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

// Numbers, strings and arrays of them are the values of a feature; true and false are 1 and 0. A
// key whose value is null or an empty array is no feature. Not thread-safe.
class JsonFeatures {
 public:
  // Borrows `columns`, and adds to it keys and types that it does not have.
  explicit JsonFeatures(Columns& columns) : columns_(columns) {}

  // kInvalidArgument: the line is no JSON object, or a value is an object, an array of arrays or of
  // different types, or not of its key's type.
  absl::Status Read(absl::string_view line);
  // The record of the last line, valid until the next call of Read().
  std::span<const uint8_t> Serialize() { return builder_.Serialize(); }

 private:
  absl::Status Add(const std::string& key, const nlohmann::ordered_json& value);
  absl::Status AddValue(FeatureType type, const nlohmann::ordered_json& value);
  void AddFeature(const Column& column);

  Columns& columns_;
  ExampleBuilder builder_;

  // The values of the feature that is being read.
  std::vector<int64_t> ints_;
  std::vector<float> floats_;
  std::vector<absl::string_view> texts_;
};

// Finds the types of keys in some lines.
class JsonSurvey {
 public:
  // Borrows `columns`.
  explicit JsonSurvey(Columns& columns) : columns_(columns) {}

  // Adds the keys of a line to the columns. A line that JsonFeatures refuses adds nothing.
  void Add(absl::string_view line);
  // Sets the types of columns that have none. A column of text and numbers has the type of its
  // first value.
  void Finish();

 private:
  Columns& columns_;
  std::map<std::string, FeatureType> types_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_JSON_FEATURES_H_
