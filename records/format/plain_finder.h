// Finds features in Examples whose bytes are as protobuf's serializers write them, in one pass.
#ifndef PENSTOCK_RECORDS_FORMAT_PLAIN_FINDER_H_
#define PENSTOCK_RECORDS_FORMAT_PLAIN_FINDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "records/format/entry_head.h"
#include "records/format/feature_use.h"
#include "records/format/found_features.h"

namespace penstock {

// An entry of a plain Example: its name comes first, then one list of values.
struct PlainEntry {
  absl::string_view name;
  FeatureType type = FeatureType::kNone;
  std::span<const uint8_t> values;  // The bytes of the one value, or the packed numbers.
};

class PlainReader;

// Not thread-safe. Copyable.
class PlainFinder {
 public:
  // Finds nothing.
  PlainFinder() = default;
  // `slots` is as FeatureFinder::slot() says.
  PlainFinder(std::span<const FeatureUse> specs, std::span<const size_t> slots);

  // No spec asks for what a plain record cannot tell.
  bool possible() const { return possible_; }

  // True: `found` holds the features, as FeatureFinder::Find() promises. False: the record has
  // another form, or lacks what a spec wants, or has two of its alternatives, and `found` is
  // unspecified. Allocates nothing once the longest record was seen.
  bool Find(std::span<const uint8_t> payload, FoundFeatures& found);

 private:
  static constexpr uint32_t kUnwanted = ~uint32_t{0};
  static constexpr size_t kMostKnown = 4096;

  // One feature that is wanted.
  struct Wanted {
    FeatureUse use;
    uint32_t slot;
    uint64_t seen_in = 0;  // The last record that had it, as far as that was noted; from 1.
  };
  // How the values of an entry are taken.
  enum class Taking : uint8_t { kSkip, kFloat, kInteger, kAny };
  // An entry of the last record.
  struct Known {
    EntryHead head;
    uint32_t index;  // A number in wanted_, or kUnwanted.
    uint32_t slot;   // Of that feature.
    Taking taking;
  };

  Known Learn(const PlainEntry& entry) const;
  // The number in wanted_ of entry `k` of a record; kUnwanted if no spec has its name.
  uint32_t IndexOf(const PlainEntry& entry, size_t k);
  // False: these values are not what the spec wants.
  bool Take(const Known& known, std::span<const uint8_t> values, const uint8_t* payload_end,
            FoundFeatures& found) const;
  bool TakeAny(uint32_t index, FeatureType type, std::span<const uint8_t> values,
               const uint8_t* payload_end, FoundFeatures& found) const;
  // The entries of a record from number `k` on; those before are those of order_ and were taken.
  bool FindRest(PlainReader reader, size_t k, const uint8_t* payload_end, FoundFeatures& found);
  // False: a feature is missing that must be there.
  bool SettleAbsent(FoundFeatures& found) const;

  std::vector<Wanted> wanted_;
  absl::flat_hash_map<std::string, uint32_t> by_name_;
  bool possible_ = false;
  std::vector<Known> order_;  // Most records have their entries in the order of the last one.
  size_t distinct_ = 0;       // So many of order_, from the front, want no feature twice.
  uint64_t records_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_PLAIN_FINDER_H_
