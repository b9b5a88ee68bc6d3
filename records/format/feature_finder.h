// Locates named features in tf.train.Examples, fast where records look alike.
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
#include "records/format/wire.h"

namespace penstock {

// What FeatureFinder::Find() fills: values of the same type in the order of their specs.
struct FoundFeatures {
  std::vector<std::span<const uint8_t>> bytes;  // One a bytes feature; points into the record.
  std::vector<int64_t> ints;
  std::vector<float> floats;
};

// A record's structure is the bytes that a parser looks at: tags, lengths, names. The finder keeps
// the structure of earlier records, one for each of some payload sizes; a record of that size whose
// bytes agree in those places has its values in the same places, which a handful of compares of 8
// bytes show. All others are walked. Both ways give the same answer for any input.
//
// Not thread-safe: keep one per thread. Copyable.
class FeatureFinder {
 public:
  // kInvalidArgument: no name, a name twice, a type or count that cannot be.
  static absl::StatusOr<FeatureFinder> Create(std::vector<FeatureUse> specs);

  // With every list as long as Find() needs it.
  FoundFeatures MakeFound() const;
  // Where the values of specs()[i] begin in the list of their type.
  size_t slot(size_t i) const { return slots_[i]; }
  const std::vector<FeatureUse>& specs() const { return specs_; }

  // `found` must be from MakeFound(); unspecified after an error.
  // kDataLoss: the record is no tf.train.Example. kInvalidArgument: a feature is missing or has
  // another type or length than its spec, naming both.
  absl::Status Find(std::span<const uint8_t> payload, FoundFeatures& found) {
    const Layout& layout = layouts_[payload.size() % kLayouts];
    if (layout.payload_size == payload.size() && Replay(layout, payload, found)) {
      return absl::OkStatus();
    }
    return Walk(payload, found);
  }

 private:
  static constexpr size_t kLayouts = 64;

  // 8 bytes at `offset` under `mask` must equal `want`.
  struct Check {
    uint32_t offset;
    uint64_t mask;
    uint64_t want;
  };
  // `count` values for the list of their type from `slot` on, in `size` bytes at `offset`.
  struct Run {
    FeatureType type;
    uint32_t slot;
    uint32_t count;
    uint32_t offset;
    uint32_t size;
  };
  struct Layout {
    size_t payload_size = ~size_t{0};  // None.
    std::vector<Check> checks;
    std::vector<Run> runs;
  };

  explicit FeatureFinder(std::vector<FeatureUse> specs);

  static bool ReadRun(const Run& run, const uint8_t* payload, FoundFeatures& found);
  static bool Replay(const Layout& layout, std::span<const uint8_t> payload, FoundFeatures& found);
  absl::Status Walk(std::span<const uint8_t> payload, FoundFeatures& found);
  absl::Status WalkSpec(size_t spec, std::span<const uint8_t> payload, FoundFeatures& found);
  absl::Status CheckCount(size_t spec, uint64_t count, uint64_t bytes) const;
  absl::Status Missing(size_t spec, std::span<const uint8_t> payload) const;
  void Remember(std::span<const uint8_t> payload);

  std::vector<FeatureUse> specs_;
  std::vector<size_t> slots_;
  std::array<Layout, kLayouts> layouts_;

  // Of the walk; members to recycle their memory.
  WireTrace trace_;
  FeatureLists lists_;
  std::vector<std::span<const uint8_t>> features_;
  std::vector<bool> present_;
  std::vector<Run> runs_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_FEATURE_FINDER_H_
