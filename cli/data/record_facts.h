// Facts that `penstock inspect` learns from the records themselves.
#ifndef PENSTOCK_CLI_DATA_RECORD_FACTS_H_
#define PENSTOCK_CLI_DATA_RECORD_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/chess/score_histogram.h"
#include "cli/data/image_survey.h"
#include "records/dataset/feature_survey.h"
#include "records/format/feature_finder.h"
#include "records/format/tfrecord_reader.h"

namespace penstock {

// Not thread-safe.
class RecordFacts {
 public:
  RecordFacts();

  // Sets the records' format from a manifest. Without this call, the records are raw if the first
  // one is not an Example.
  void SetFormat(RecordFormat format) {
    format_ = format;
    survey_.emplace(format);
  }

  // Keeps the payloads of the first `count` records.
  void KeepFirst(size_t count) { keep_ = count; }

  // Adds a record. If the first record is an Example and this one is not, it counts but has no
  // features.
  absl::Status Add(const std::string& shard, const Record& record);

  uint64_t count() const { return count_; }
  RecordFormat format() const { return format_; }
  const std::string& first() const { return first_; }
  const ScoreHistogram& scores() const { return scores_; }
  FeatureSummary Features() const { return survey_ ? survey_->Summary() : FeatureSummary(); }
  // Returns the parts of records that nothing reads: "field 7 of the record".
  std::vector<std::string> Unread() const {
    return survey_ ? survey_->unread() : std::vector<std::string>();
  }
  // Returns the features that hold encoded images.
  std::vector<ImageFacts> Images() const { return images_.Facts(); }
  const std::vector<std::string>& kept() const { return kept_; }

 private:
  absl::Status DescribeFirst(const std::string& shard, const Record& record, bool chess);
  void Survey(const Record& record);

  FeatureFinder finder_;
  FoundFeatures found_;
  std::optional<FeatureSurvey> survey_;
  ImageSurvey images_;
  RecordFormat format_ = RecordFormat::kExample;
  uint64_t count_ = 0;
  std::string first_;
  ScoreHistogram scores_;
  size_t keep_ = 0;
  std::vector<std::string> kept_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_RECORD_FACTS_H_
