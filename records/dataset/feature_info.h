// Describes the features of a dataset, for defaults and for messages.
#ifndef PENSTOCK_RECORDS_DATASET_FEATURE_INFO_H_
#define PENSTOCK_RECORDS_DATASET_FEATURE_INFO_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "records/format/feature_use.h"

namespace penstock {

// The usual name of the feature that holds a record's encoded image.
inline constexpr absl::string_view kImageFeature = "image/encoded";
// The usual name of the feature with the image's class.
inline constexpr absl::string_view kImageLabel = "image/class/label";
// The usual names of a sample's image (alternatives) and of its class in a WebDataset.
inline constexpr absl::string_view kSampleImage = "jpg|jpeg|png";
inline constexpr absl::string_view kSampleClass = "cls";

// The form of a dataset's payloads.
enum class RecordFormat : uint8_t {
  kExample = 0,  // A tf.train.Example or SequenceExample.
  kRaw = 1,      // Any bytes. The payload is the one bytes feature, kRawFeature.
};

struct ValueRange {
  uint32_t min = 0;
  uint32_t max = 0;

  bool fixed() const { return min == max; }
  // Returns "3" or "3-9".
  std::string ToText() const;

  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// A feature or feature list, as seen in the records that were surveyed.
struct FeatureInfo {
  std::string name;
  std::string type;  // "bytes", "int64", "float", or "none" if it has no values of any kind.
  bool feature_list = false;    // True for a feature list of SequenceExamples.
  uint64_t records = 0;         // Number of records that have it; 0 if not counted.
  ValueRange values = {};       // Values per record that has it, or steps of a feature list.
  ValueRange bytes = {};        // Bytes per value, if values are bytes.
  ValueRange step_values = {};  // Values per step of a feature list.
  uint64_t images = 0;          // Records in which every value begins like a JPEG or PNG.
  uint64_t grey16 = 0;  // Records in which a value is a PNG with 16-bit grey (IsGrey16Png()).

  friend bool operator==(const FeatureInfo&, const FeatureInfo&) = default;
};

struct FeatureSummary {
  uint64_t records = 0;  // Number of records surveyed; 0 if not counted.
  std::vector<FeatureInfo> features;

  // Whether all of these records have the feature, as far as is known.
  bool InAll(const FeatureInfo& feature) const { return feature.records >= records; }

  friend bool operator==(const FeatureSummary&, const FeatureSummary&) = default;
};

// Adds `from`, which describes other records, to `into`.
void Merge(const FeatureSummary& from, FeatureSummary& into);

// Returns the summary in the form that does not depend on the order of records and shards. Features
// are sorted by name. A feature that has no values of any kind in some shards has the type of the
// others: such a feature list counts as empty, and such a feature as missing.
FeatureSummary Canonical(FeatureSummary summary);

// Finds features by name and type. Borrows `summary`. Thread-compatible.
class FeatureIndex {
 public:
  explicit FeatureIndex(const FeatureSummary& summary);

  // Returns the index of the feature with the name and type of `feature`. If there is none, and
  // `feature` is a feature list without a type, returns that of the list in which Canonical()
  // counts it.
  std::optional<size_t> Find(const FeatureInfo& feature) const;
  // Whether there is a feature with the name of `feature`, of any type.
  bool HasName(const FeatureInfo& feature) const;

 private:
  using Key = std::tuple<absl::string_view, bool, absl::string_view>;
  using Map = std::map<Key, size_t>;
  // The first entry with the name of `feature`, if there is one.
  Map::const_iterator FirstOf(const FeatureInfo& feature) const;

  Map index_;
};

// Whether the feature has this name and type, and exactly one value in each record that has it.
bool IsOneValue(const FeatureInfo& feature, absl::string_view name, absl::string_view type);

// Whether there are the features of chess records: `d`, 194 bytes, and `s`, one int64.
bool HasChessFeatures(const FeatureSummary& summary);

// Whether the values of the feature are encoded images: it is named `image/encoded`, or at least
// half of the records that have it have images there. False for feature lists.
bool HoldsImages(const FeatureInfo& feature);

// Whether each record has an image and a class under the usual names of a WebDataset, as far as
// counts tell. Records may use different names for the image.
bool HasSampleImages(const FeatureSummary& summary);

// Returns the word for the rows in messages: "positions" for chess, else "rows".
absl::string_view RowsName(const FeatureSummary& summary);

// Returns the feature that decides the holdout split by default; empty if the whole payload
// decides.
std::string DefaultHoldoutFeature(const FeatureSummary& summary);

// Says why the two are not of one dataset: they have features of the same name but different types,
// or a feature is in all records of one and in none of the other. Returns an empty string if they
// may be of one dataset. Lengths may differ. If one of them has few records, only a complete lack
// of common features counts.
std::string FeatureDifference(const FeatureSummary& a, const FeatureSummary& b);

// Returns "d: bytes, length 194" or "tokens: int64, values 1-199, in 31 of 100 records".
std::string Describe(const FeatureInfo& feature, uint64_t records);

// Returns "d (bytes), s (int64)". Lists the first 16 features.
std::string NamesOf(std::span<const FeatureInfo> features);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_FEATURE_INFO_H_
