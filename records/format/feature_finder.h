// Finds named features in tf.train.Examples and SequenceExamples. Fast if records have the same
// structure.
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

// The structure of a record is the bytes that a parser looks at: tags, lengths and names. The
// finder keeps the structures of earlier records as layouts, one for each of some payload sizes. If
// a record has the size of a layout, and its bytes agree with the layout in those places, then its
// values are in the same places. A few comparisons of 8 bytes show this. All other records are
// walked. Both ways give the same result for any input.
//
// Not thread-safe: keep one for each thread. Copyable.
class FeatureFinder {
 public:
  // A feature and a feature list may have the same name, and names may be alternatives
  // (AlternativesOf()), which other specs may name too.
  //   - A bytes feature with count 0 that is not variable may have any length.
  //   - A variable feature of type kNone may have any type, even if another spec with this name
  //     has a type.
  //   - A spec without a name is the whole payload. If no other spec needs one, the payload need
  //     not be an Example.
  // kInvalidArgument: two other specs with the same name, or an impossible type or count.
  static absl::StatusOr<FeatureFinder> Create(std::vector<FeatureUse> specs);

  // Creates an object whose lists are as long as Find() needs them.
  FoundFeatures MakeFound() const;
  // For a variable feature, the index in FoundFeatures::variable. For any other feature, the index
  // at which the values of specs()[i] begin in the list of their type.
  size_t slot(size_t i) const { return slots_[i]; }
  const std::vector<FeatureUse>& specs() const { return specs_; }

  // Finds the features in `payload`. `found` must come from MakeFound(). It points into `payload`,
  // and is unspecified after an error.
  // kDataLoss: the record is no tf.train.Example.
  // kInvalidArgument: a feature is missing, or has a type or count other than its spec. The message
  // has both.
  // kResourceExhausted: `payload` has 4 GiB or more.
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
  // Making a layout costs as much as a few walks, and ten times as much as the finder of plain
  // records. So layouts must pay off: at least one record in kRarely must match a layout. If
  // records can be plain, at least kOften records must match for each one that does not. If too few
  // match, only one walk in kProbe makes a layout.
  static constexpr uint32_t kRarely = 8;
  static constexpr uint32_t kOften = 8;
  static constexpr uint32_t kProbe = 256;
  static constexpr uint32_t kMostAlike = 64;

  // The 8 bytes at `offset`, under `mask`, must equal `want`.
  struct Check {
    uint32_t offset;
    uint64_t mask;
    uint64_t want;
  };
  // `size` bytes at `offset` hold `count` values. They go to the list of their type, from `slot`
  // on, or to variable feature `slot`.
  struct Run {
    FeatureType type;
    bool variable;
    uint32_t slot;
    uint32_t count;
    uint32_t offset;
    uint32_t size;
  };
  struct Layout {
    size_t payload_size = ~size_t{0};  // Initially there is no layout.
    std::vector<Check> checks;
    std::vector<Run> runs;
    std::vector<bool> present;  // Says for each spec whether the record has it.
  };
  // The features of a record that a spec with alternatives may stand for. They point into the
  // record.
  struct Chosen {
    absl::string_view name;
    absl::string_view other;  // If it is not empty, the record has two of the alternatives.
  };
  // Totals of the values of one feature.
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
  // Not inlined, so that ReadRun() is.
  [[gnu::noinline]] static bool ReadVariable(const Run& run, const uint8_t* payload,
                                             FoundFeatures& found);
  void ClearVariable(const std::vector<bool>& present, FoundFeatures& found) const;
  bool Replay(const Layout& layout, std::span<const uint8_t> payload, FoundFeatures& found) const;
  absl::Status Walk(std::span<const uint8_t> payload, FoundFeatures& found);
  // Records where the features of the specs are. Returns the byte at which the record is broken, or
  // null.
  const uint8_t* WalkRecord(std::span<const uint8_t> payload);
  // Counts a walk, and returns whether it is to make a layout.
  bool CountWalk();
  // Assigns the entry to the specs that it stands for.
  void Note(const ExampleEntry& entry, bool sequence);
  // Like Note(), for one spec. Returns false if the entry is not the one that the spec stands for.
  bool NoteFor(size_t spec, const ExampleEntry& entry);
  absl::Status WalkSpec(size_t spec, std::span<const uint8_t> payload, FoundFeatures& found);
  absl::Status WalkFeatureOf(size_t spec, std::span<const uint8_t> payload, Tally& tally);
  absl::Status WalkSteps(size_t spec, std::span<const uint8_t> payload, Tally& tally);
  // Appends the runs of lists_ to runs_.
  absl::Status WalkLists(size_t spec, std::span<const uint8_t> payload, Tally& tally);
  absl::Status CheckFixed(size_t spec, const Tally& tally) const;
  absl::Status CheckVariable(size_t spec, const Tally& tally) const;
  absl::Status CheckVariables(const FoundFeatures& found) const;
  absl::Status TwoAlternatives(size_t spec) const;
  absl::Status Missing(size_t spec, std::span<const uint8_t> payload) const;
  void Remember(std::span<const uint8_t> payload);

  std::vector<FeatureUse> specs_;
  std::vector<size_t> slots_;
  std::vector<std::vector<std::string>> alternatives_;  // Indexed by spec.
  bool has_features_ = false;   // True if a spec is a feature of an Example.
  bool has_sequences_ = false;  // True if a spec is a feature list of a SequenceExample.
  bool has_variable_ = false;   // True if a spec is variable.
  // True if a spec has any type or has alternatives, so that other specs may have its name.
  bool shares_names_ = false;
  std::array<Layout, kLayouts> layouts_;
  // Records that matched a layout, minus a weighted number of records that did not.
  uint32_t alike_ = kMostAlike;
  uint32_t walks_ = 0;
  PlainFinder plain_;

  // State of a walk. They are members so that their memory is reused.
  WireTrace trace_;
  WireTrace* tracing_ = nullptr;  // Set during a walk that makes a layout.
  FeatureLists lists_;
  std::vector<std::span<const uint8_t>> features_;
  std::vector<bool> present_;
  std::vector<Chosen> chosen_;
  size_t expected_ = 0;  // The spec of the next entry, if entries come in the order of the specs.
  std::vector<Run> runs_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_FEATURE_FINDER_H_
