// Finds out which features records have by reading them.
#ifndef PENSTOCK_RECORDS_DATASET_FEATURE_SURVEY_H_
#define PENSTOCK_RECORDS_DATASET_FEATURE_SURVEY_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "records/dataset/feature_info.h"
#include "records/format/example_walk.h"

namespace penstock {

// Surveys Examples and SequenceExamples, and reads every value. As in TensorFlow, the last entry of
// a name counts, and a feature without a kind is missing. Not thread-safe.
class FeatureSurvey {
 public:
  // Features beyond this number are only mentioned in unread().
  static constexpr size_t kMaxFeatures = 1024;

  explicit FeatureSurvey(RecordFormat format = RecordFormat::kExample) : format_(format) {}

  // Adds a record. kDataLoss: the record is no Example (the message has the byte), and nothing of
  // it is counted.
  absl::Status Add(std::span<const uint8_t> payload);
  // The two halves of Add(): Read() reads a record, which must stay valid until Keep() counts it.
  // Without Keep(), the record does not count.
  absl::Status Read(std::span<const uint8_t> payload);
  void Keep();

  uint64_t records() const { return records_; }
  // The features in the order of first appearance.
  FeatureSummary Summary() const;
  // Parts of records that nothing reads, for example "field 7 of the record". Each part is listed
  // once.
  const std::vector<std::string>& unread() const { return unread_; }

 private:
  // The values of one feature in one record.
  struct Values {
    FeatureType type = FeatureType::kNone;
    uint64_t count = 0;
    uint64_t steps = 0;
    ValueRange bytes = kNoRange;
    ValueRange step_values = kNoRange;
    uint64_t images = 0;  // Values that begin like a JPEG or PNG.
    bool grey16 = false;  // True if a value is a PNG with 16-bit grey.
  };
  // One name of a feature or of a feature list.
  struct Row {
    std::string name;
    bool list = false;
    size_t last_entry = 0;                    // Index in entries_ of its last entry, if it has one.
    std::array<FeatureInfo, 4> by_type = {};  // Those with `records` of 0 are unused.
  };
  struct Entry {
    size_t row;
    std::span<const uint8_t> feature;
    Values values;
  };

  static constexpr ValueRange kNoRange = {~uint32_t{0}, 0};

  absl::Status ReadExample(std::span<const uint8_t> payload);
  void Find(const ExampleEntry& entry, bool list);
  size_t RowOf(absl::string_view name, bool list);
  // Returns the byte at which the feature is broken, or null.
  const uint8_t* ReadSteps(Entry& entry);
  const uint8_t* ReadFeature(std::span<const uint8_t> feature, const Row& row, Values& values);
  void NoteUnread(std::span<const uint8_t> payload);
  void NoteKinds(std::span<const uint8_t> feature, const Row& row);
  void Note(std::string what);
  void Keep(const Entry& entry);
  static void Append(const Row& row, std::vector<FeatureInfo>& out);

  const RecordFormat format_;
  uint64_t records_ = 0;
  std::vector<Row> rows_;
  // Indexes into rows_ by name: index_[0] for features, index_[1] for feature lists.
  std::array<std::map<std::string, size_t, std::less<>>, 2> index_;
  std::vector<std::string> unread_;

  // State for the record that is being read. They are members so that their memory is reused.
  std::vector<Entry> entries_;
  FeatureLists lists_;
  size_t expected_ = 0;  // The row of the next entry, if records have the same order.
};

// Returns kExample if the payload is a valid Example or SequenceExample, else kRaw.
RecordFormat FormatOf(std::span<const uint8_t> payload);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_FEATURE_SURVEY_H_
