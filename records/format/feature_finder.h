// Locates named features in tf.train.Examples and SequenceExamples, fast where records look alike.
#ifndef PENSTOCK_RECORDS_FORMAT_FEATURE_FINDER_H_
#define PENSTOCK_RECORDS_FORMAT_FEATURE_FINDER_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "records/format/example.h"
#include "records/format/example_walk.h"
#include "records/format/feature_use.h"
#include "records/format/found_features.h"
#include "records/format/plain_finder.h"
#include "records/format/wire.h"

namespace penstock {

// A record's structure is the bytes that a parser looks at: tags, lengths, names. The finder keeps
// the structure of earlier records, one for each of some payload sizes; a record of that size whose
// bytes agree in those places has its values in the same places, which a handful of compares of 8
// bytes show. All others are walked. Both ways give the same answer for any input.
//
// Not thread-safe: keep one per thread. Copyable.
class FeatureFinder {
 public:
  // A feature and a feature list may have the same name, and names may be alternatives
  // (AlternativesOf()), also ones that other specs name. A bytes feature of count 0 that is not
  // variable may have any length, and a variable feature of type kNone any type, whatever another
  // spec says of that name. One without a name is the whole payload, which need be no Example if
  // nothing else is wanted.
  // kInvalidArgument: a name twice, a type or count that cannot be.
  static absl::StatusOr<FeatureFinder> Create(std::vector<FeatureUse> specs);

  // With every list as long as Find() needs it.
  FoundFeatures MakeFound() const;
  // Where the values of specs()[i] begin in the list of their type, or among the variable ones.
  size_t slot(size_t i) const { return slots_[i]; }
  const std::vector<FeatureUse>& specs() const { return specs_; }

  // `found` must be from MakeFound(); unspecified after an error.
  // kDataLoss: the record is no tf.train.Example. kInvalidArgument: a feature is missing or has
  // another type or count than its spec, naming both.
  absl::Status Find(std::span<const uint8_t> payload, FoundFeatures& found) {
    const Layout& layout = layouts_[payload.size() % kLayouts];
    if (layout.payload_size == payload.size() && Replay(layout, payload, found)) {
      if (alike_ < kMostAlike) ++alike_;
      return absl::OkStatus();
    }
    return Walk(payload, found);
  }

 private:
  static constexpr size_t kLayouts = 64;
  // A layout costs as much as a few walks and ten times as much as the finder of plain records. So
  // where fewer than one record in kRarely has one, or of plain records fewer than kOften for each
  // that has none, only one walk in kProbe leaves its own.
  static constexpr uint32_t kRarely = 8;
  static constexpr uint32_t kOften = 8;
  static constexpr uint32_t kProbe = 256;
  static constexpr uint32_t kMostAlike = 64;

  // 8 bytes at `offset` under `mask` must equal `want`.
  struct Check {
    uint32_t offset;
    uint64_t mask;
    uint64_t want;
  };
  // `count` values for the list of their type from `slot` on, or for variable feature `slot`, in
  // `size` bytes at `offset`.
  struct Run {
    FeatureType type;
    bool variable;
    uint32_t slot;
    uint32_t count;
    uint32_t offset;
    uint32_t size;
  };
  struct Layout {
    size_t payload_size = ~size_t{0};  // None.
    std::vector<Check> checks;
    std::vector<Run> runs;
    std::vector<bool> present;  // By spec.
  };
  // The features of a record that a spec of alternatives stands for; they point into the record.
  struct Chosen {
    absl::string_view name;
    absl::string_view other;  // Not empty: there are two of them.
  };
  // Values of one feature.
  struct Tally {
    uint64_t count = 0;
    uint64_t bytes = 0;
  };

  explicit FeatureFinder(std::vector<FeatureUse> specs);

  bool IsPayload(size_t spec) const { return specs_[spec].name.empty(); }
  bool IsSequence(size_t spec) const { return specs_[spec].is_feature_list(); }
  bool IsOptional(size_t spec) const {
    return specs_[spec].variable && specs_[spec].variable->optional;
  }

  static bool Agrees(std::span<const Check> checks, const uint8_t* payload);
  static bool ReadRun(const Run& run, const uint8_t* payload, FoundFeatures& found);
  // Apart, so that ReadRun() is inlined.
  [[gnu::noinline]] static bool ReadVariable(const Run& run, const uint8_t* payload,
                                             FoundFeatures& found);
  void ClearVariable(const std::vector<bool>& present, FoundFeatures& found) const;
  bool Replay(const Layout& layout, std::span<const uint8_t> payload, FoundFeatures& found) const;
  absl::Status Walk(std::span<const uint8_t> payload, FoundFeatures& found);
  // Notes where the features of the specs are. The byte where the record is broken, or null.
  const uint8_t* WalkRecord(std::span<const uint8_t> payload);
  // Whether this walk is to leave a layout.
  bool CountWalk();
  void Note(const ExampleEntry& entry, bool sequence);
  // The same for the feature of one spec; false: the entry is not the one it stands for.
  bool NoteFor(size_t spec, const ExampleEntry& entry);
  absl::Status WalkSpec(size_t spec, std::span<const uint8_t> payload, FoundFeatures& found);
  absl::Status WalkFeatureOf(size_t spec, std::span<const uint8_t> payload, Tally& tally);
  absl::Status WalkSteps(size_t spec, std::span<const uint8_t> payload, Tally& tally);
  // The runs of lists_, appended to runs_.
  absl::Status WalkLists(size_t spec, std::span<const uint8_t> payload, Tally& tally);
  absl::Status CheckFixed(size_t spec, const Tally& tally) const;
  absl::Status CheckVariable(size_t spec, const Tally& tally) const;
  absl::Status CheckVariables(const FoundFeatures& found) const;
  absl::Status TwoAlternatives(size_t spec) const;
  absl::Status Missing(size_t spec, std::span<const uint8_t> payload) const;
  void Remember(std::span<const uint8_t> payload);

  std::vector<FeatureUse> specs_;
  std::vector<size_t> slots_;
  std::vector<std::vector<std::string>> alternatives_;  // By spec.
  bool has_features_ = false;   // One of the specs is a feature of an Example,
  bool has_sequences_ = false;  // a feature list of a SequenceExample,
  bool has_variable_ = false;   // of variable length,
  bool shares_names_ = false;   // of any type, or one of alternatives: others may have its name.
  std::array<Layout, kLayouts> layouts_;
  uint32_t alike_ = kMostAlike;  // Records that had a layout, less those that had none, weighed.
  uint32_t walks_ = 0;
  PlainFinder plain_;

  // Of the walk; members to recycle their memory.
  WireTrace trace_;
  WireTrace* tracing_ = nullptr;  // Of a walk that leaves a layout.
  FeatureLists lists_;
  std::vector<std::span<const uint8_t>> features_;
  std::vector<bool> present_;
  std::vector<Chosen> chosen_;
  size_t expected_ = 0;  // The spec of the next entry, if entries come in the order of the specs.
  std::vector<Run> runs_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_FEATURE_FINDER_H_
