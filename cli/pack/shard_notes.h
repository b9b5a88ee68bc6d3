// Notes about a finished shard, kept beside it for the run that continues.
#ifndef PENSTOCK_CLI_PACK_SHARD_NOTES_H_
#define PENSTOCK_CLI_PACK_SHARD_NOTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct SkippedRecord {
  uint64_t index = 0;  // Number of the record in the source.
  std::string reason;  // One line of text.
};

struct ShardNotes {
  static constexpr size_t kMaxListed = 1000;

  uint64_t records = 0;  // Number of records in the shard.
  uint64_t num_skipped = 0;
  std::vector<SkippedRecord> skipped;  // The first skipped records.

  void Skip(uint64_t index, absl::string_view reason);

  std::string Serialize() const;
  // kDataLoss: the text was not written by Serialize().
  static absl::StatusOr<ShardNotes> Parse(absl::string_view text);
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_SHARD_NOTES_H_
