// Makes small shards, and options for scanning them.
#ifndef PENSTOCK_RECORDS_DATASET_TESTING_SCANNED_SHARDS_H_
#define PENSTOCK_RECORDS_DATASET_TESTING_SCANNED_SHARDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "records/dataset/shard_scan.h"
#include "records/format/testing/shard_builder.h"
#include "tests/status_matchers.h"

namespace penstock {

// Records of 100 bytes each, including their frames.
inline ShardBuilder SmallShard(int records) {
  ShardBuilder shard;
  for (int i = 0; i < records; ++i) shard.Add(std::string(84, static_cast<char>('a' + i % 26)));
  return shard;
}

inline ScanOptions Target(uint64_t bytes) {
  ScanOptions options;
  options.chunk_target = bytes;
  return options;
}

inline ScanOptions Collecting(uint64_t target) {
  ScanOptions options = Target(target);
  options.collect_damage = true;
  return options;
}

// The members that a shard writer makes if each has `per_member` records.
inline std::vector<uint8_t> Members(Compression compression, int members, int per_member) {
  std::vector<uint8_t> out;
  for (int i = 0; i < members; ++i) {
    EXPECT_OK(CompressMember(compression, SmallShard(per_member).bytes(), out));
  }
  return out;
}

inline uint64_t Records(const ShardScan& scan) {
  uint64_t records = 0;
  for (const auto& chunk : scan.chunks) records += chunk.records;
  return records;
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_TESTING_SCANNED_SHARDS_H_
