// Cuts all records of a shard in memory, for tests.
#ifndef PENSTOCK_RECORDS_CONTAINER_TESTING_CUT_RECORDS_H_
#define PENSTOCK_RECORDS_CONTAINER_TESTING_CUT_RECORDS_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "records/container/record_cutter.h"

namespace penstock {

struct CutRecords {
  std::vector<std::vector<uint8_t>> payloads;
  std::vector<uint64_t> ends;  // Ends of the records in the shard.
  absl::Status status;         // The error that ended cutting, if there was one.

  bool operator==(const CutRecords&) const = default;
};

enum class Growth : uint8_t {
  kWhole,     // All bytes are available at once.
  kAsNeeded,  // Each call gets the bytes that the last call asked for.
  kByByte,    // Each call gets one byte more.
};

// Ends the program if the cutter breaks its contract.
inline CutRecords CutAll(std::span<const uint8_t> shard, RecordCutter& cutter, Growth growth) {
  using What = RecordCutter::Cut::What;
  CutRecords all;
  uint64_t begin = 0, end = growth == Growth::kWhole ? shard.size() : 0;
  while (true) {
    const bool at_end = end == shard.size();
    const auto cut = cutter.Next(shard.subspan(begin, end - begin), at_end);
    if (!cut.ok()) {
      all.status = cut.status();
      return all;
    }
    if (cut->what == What::kMore) {
      if (at_end || cut->size <= end - begin) std::abort();
      const uint64_t more = growth == Growth::kByByte ? 1 : cut->size - (end - begin);
      end += std::min<uint64_t>(more, shard.size() - end);
      continue;
    }
    if (cut->what == What::kEnd) {
      if (cut->size != end - begin) std::abort();
      return all;
    }
    if (cut->size == 0 || cut->size > end - begin) std::abort();
    begin += cut->size;
    all.ends.push_back(begin);
    all.payloads.emplace_back(cut->payload.begin(), cut->payload.end());
  }
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_TESTING_CUT_RECORDS_H_
