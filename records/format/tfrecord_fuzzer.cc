// Reads any bytes as a TFRecord file, compressed or not. Reading must end or fail, with bounded
// memory.
#include <cstdlib>
#include <vector>

#include "base/io/testing/memory_source.h"
#include "records/format/tfrecord_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  penstock::MemorySource source("fuzz", std::vector<uint8_t>(data, data + size));
  penstock::TfRecordReader reader(source, {.max_record_bytes = 1 << 20});
  penstock::Record record;
  uint64_t next = 0;
  while (true) {
    absl::StatusOr<bool> more = reader.Next(record);
    if (!more.ok() || !*more) break;
    if (record.offset != next) abort();
    next = record.offset + record.payload.size() + penstock::kFrameOverhead;
  }
  return 0;
}
