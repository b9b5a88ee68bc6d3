// Finds samples of a WebDataset whose members do not follow one another.
#ifndef PENSTOCK_RECORDS_CONTAINER_SAMPLE_KEYS_H_
#define PENSTOCK_RECORDS_CONTAINER_SAMPLE_KEYS_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The keys of one shard's samples as hashes of 64 bits: 10 to 21 bytes a sample, with the table's
// free places. Of ten million samples, two have the same hash by chance once in
// 300,000 shards. Not thread-safe.
class SampleKeys {
 public:
  // Tells of the next sample. kDataLoss: a sample of the same key came before.
  absl::Status Add(absl::string_view key);

 private:
  absl::flat_hash_set<uint64_t> seen_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_SAMPLE_KEYS_H_
