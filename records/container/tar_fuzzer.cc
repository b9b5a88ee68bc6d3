// Reads any bytes as a WebDataset shard, unchanged and with corrected checksums. The records must
// be the same whether the bytes are there at once or arrive one by one, each record must give the
// same payload when it is read alone, and memory must be bounded.
#include <cstdlib>
#include <vector>

#include "records/container/testing/cut_records.h"
#include "records/container/testing/tar_builder.h"
#include "records/container/webdataset.h"

namespace penstock {
namespace {

void Fuzz(std::span<const uint8_t> shard) {
  static RecordCutter* const cutter = NewWebDatasetCutter().release();
  const CutRecords whole = CutAll(shard, *cutter, Growth::kWhole);
  if (CutAll(shard, *cutter, Growth::kAsNeeded) != whole) std::abort();
  if (shard.size() < 1600 && CutAll(shard, *cutter, Growth::kByByte) != whole) std::abort();
  uint64_t begin = 0;
  for (size_t i = 0; i < whole.ends.size(); begin = whole.ends[i++]) {
    const std::span<const uint8_t> record = shard.subspan(begin, whole.ends[i] - begin);
    const CutRecords alone = CutAll(record, *cutter, Growth::kWhole);
    if (!alone.status.ok() || alone.payloads.size() != 1) std::abort();
    if (alone.payloads[0] != whole.payloads[i]) std::abort();
  }
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> shard(data, data + size);
  penstock::Fuzz(shard);
  for (size_t at = 0; at + penstock::kTestTarBlock <= size; at += penstock::kTestTarBlock) {
    if (shard[at] == 0) continue;  // Possibly one of the blocks that end the archive.
    penstock::StoreChecksum(reinterpret_cast<char*>(shard.data()) + at);
  }
  penstock::Fuzz(shard);
  return 0;
}
