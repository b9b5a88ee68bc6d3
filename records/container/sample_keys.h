// Detects samples of a WebDataset whose members are not adjacent.
#ifndef PENSTOCK_RECORDS_CONTAINER_SAMPLE_KEYS_H_
#define PENSTOCK_RECORDS_CONTAINER_SAMPLE_KEYS_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The keys of the samples of one shard, as hashes of 64 bits. They take 10 to 21 bytes a sample,
// including free places of the table. Among ten million samples, two have the same hash by chance
// once in 300,000 shards. Not thread-safe.
class SampleKeys {
 public:
  // Adds the key of the next sample. kDataLoss: an earlier sample has the same key.
  absl::Status Add(absl::string_view key);

 private:
  absl::flat_hash_set<uint64_t> seen_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_SAMPLE_KEYS_H_
