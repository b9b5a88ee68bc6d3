// Finds features, in one pass, in Examples whose bytes are as protobuf's serializers write them.
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

// An entry of a plain Example: first its name, then one list of values.
struct PlainEntry {
  absl::string_view name;
  FeatureType type = FeatureType::kNone;
  std::span<const uint8_t> values;  // The bytes of the one value, or the packed numbers.
};

class PlainReader;

// Finds the features of plain Examples. Not thread-safe. Copyable.
class PlainFinder {
 public:
  // Makes a finder that finds nothing.
  PlainFinder() = default;
  // `slots` are those of FeatureFinder::slot().
  PlainFinder(std::span<const FeatureUse> specs, std::span<const size_t> slots);

  // True if plain records can provide what every spec wants.
  bool possible() const { return possible_; }

  // Returns true if `found` holds the features, as FeatureFinder::Find() promises. Returns false,
  // with `found` unspecified, if the record has another form, lacks what a spec wants, or has two
  // of a spec's alternatives. Allocates nothing once the longest record has been seen.
  bool Find(std::span<const uint8_t> payload, FoundFeatures& found);

 private:
  static constexpr uint32_t kUnwanted = ~uint32_t{0};
  static constexpr size_t kMostKnown = 4096;

  // A feature that is wanted.
  struct Wanted {
    FeatureUse use;
    uint32_t slot;
    uint64_t seen_in = 0;  // Number, from 1 on, of the last record in which FindRest() saw it.
  };
  // How the values of an entry are stored.
  enum class Taking : uint8_t { kSkip, kFloat, kInteger, kAny };
  // An entry of the last record.
  struct Known {
    EntryHead head;
    uint32_t index;  // Index in wanted_, or kUnwanted.
    uint32_t slot;   // Slot of that feature.
    Taking taking;
  };

  Known Learn(const PlainEntry& entry) const;
  // Returns the index in wanted_ of entry `k` of a record, or kUnwanted if no spec has its name.
  uint32_t IndexOf(const PlainEntry& entry, size_t k);
  // Returns false if these values are not what the spec wants.
  bool Take(const Known& known, std::span<const uint8_t> values, const uint8_t* payload_end,
            FoundFeatures& found) const;
  bool TakeAny(uint32_t index, FeatureType type, std::span<const uint8_t> values,
               const uint8_t* payload_end, FoundFeatures& found) const;
  // Finds the entries of a record from entry `k` on. The entries before are those of order_, and
  // their values are stored.
  bool FindRest(PlainReader reader, size_t k, const uint8_t* payload_end, FoundFeatures& found);
  // Returns false if a required feature is missing.
  bool SettleAbsent(FoundFeatures& found) const;

  std::vector<Wanted> wanted_;
  absl::flat_hash_map<std::string, uint32_t> by_name_;
  bool possible_ = false;
  std::vector<Known> order_;  // The entries of the last record. Most records have the same order.
  size_t distinct_ = 0;  // This many entries at the front of order_ stand for different features.
  uint64_t records_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_PLAIN_FINDER_H_
