// What is known of the features of a dataset: for people, defaults and error messages.
#ifndef PENSTOCK_RECORDS_DATASET_FEATURE_INFO_H_
#define PENSTOCK_RECORDS_DATASET_FEATURE_INFO_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "records/format/feature_use.h"

namespace penstock {

// The usual name of the feature that holds a record's encoded image.
inline constexpr absl::string_view kImageFeature = "image/encoded";
// That of its class.
inline constexpr absl::string_view kImageLabel = "image/class/label";
// The usual names in a WebDataset: of a sample's image (alternatives) and its class.
inline constexpr absl::string_view kSampleImage = "jpg|jpeg|png";
inline constexpr absl::string_view kSampleClass = "cls";

// What the payloads of a dataset are.
enum class RecordFormat : uint8_t {
  kExample = 0,  // tf.train.Example or SequenceExample.
  kRaw = 1,      // Anything: one bytes feature, kRawFeature.
};

struct ValueRange {
  uint32_t min = 0;
  uint32_t max = 0;

  bool fixed() const { return min == max; }
  // "3", "3-9".
  std::string ToText() const;

  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// A feature, or a feature list, as seen in the records that were looked at.
struct FeatureInfo {
  std::string name;
  std::string type;             // "bytes", "int64", "float"; "none": without values of any kind.
  bool feature_list = false;    // Of SequenceExamples.
  uint64_t records = 0;         // That have it; 0: nobody counted.
  ValueRange values = {};       // In a record that has it; of a feature list its steps.
  ValueRange bytes = {};        // Of each value, where they are bytes.
  ValueRange step_values = {};  // In each step of a feature list.
  uint64_t images = 0;          // Records in which every value begins as JPEG or PNG do.

  friend bool operator==(const FeatureInfo&, const FeatureInfo&) = default;
};

struct FeatureSummary {
  uint64_t records = 0;  // Looked at; 0: nobody counted.
  std::vector<FeatureInfo> features;

  // Whether all of these records have it, as far as is known.
  bool InAll(const FeatureInfo& feature) const { return feature.records >= records; }

  friend bool operator==(const FeatureSummary&, const FeatureSummary&) = default;
};

// Adds what was seen in other records.
void Merge(const FeatureSummary& from, FeatureSummary& into);

// Whether the feature has this name and exactly one value of this type in each record that has it.
bool IsOneValue(const FeatureInfo& feature, absl::string_view name, absl::string_view type);

// Chess's: `d`, bytes of 194, and `s`, one int64.
bool HasChessFeatures(const FeatureSummary& summary);

// Whether its values are encoded images: it is called `image/encoded`, or at least half of the
// records that have it have images. Never a feature list.
bool HoldsImages(const FeatureInfo& feature);

// Whether each record has an image and a class by the usual names of a WebDataset, as far as counts
// tell: the images may be of several of the names.
bool HasSampleImages(const FeatureSummary& summary);

// What people call the rows: "positions" of chess, else "rows".
absl::string_view RowsName(const FeatureSummary& summary);

// The feature that decides the holdout where none is named; empty: the whole payload.
std::string DefaultHoldoutFeature(const FeatureSummary& summary);

// Why the two are not of one dataset: features of the same name and different types, or in all
// records of one and in none of the other. Empty: they can be. Lengths may differ; few records
// prove only that nothing is alike.
std::string FeatureDifference(const FeatureSummary& a, const FeatureSummary& b);

// "d: bytes, length 194", "tokens: int64, values 1-199, in 31 of 100 records".
std::string Describe(const FeatureInfo& feature, uint64_t records);

// "d (bytes), s (int64)", the first 16.
std::string NamesOf(std::span<const FeatureInfo> features);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_FEATURE_INFO_H_
