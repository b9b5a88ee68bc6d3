// A shard of given payloads, and its chunk table.
#ifndef PENSTOCK_RECORDS_ENGINE_TESTING_RECORD_DATA_H_
#define PENSTOCK_RECORDS_ENGINE_TESTING_RECORD_DATA_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "base/crc32c.h"
#include "records/decode/spec.h"
#include "records/engine/messages.h"
#include "records/format/compression.h"
#include "records/format/tfrecord.h"

namespace penstock {

// Written once to records.tfrecord in a folder. Thread-compatible.
class RecordData {
 public:
  RecordData(const std::string& folder, const std::vector<std::string>& payloads,
             uint32_t records_per_chunk, Compression compression = Compression::kNone)
      : shard_{"records.tfrecord", ContainerOf(compression), 0} {
    std::ofstream file(folder + "/" + shard_.path, std::ios::binary);
    for (size_t first = 0; first < payloads.size(); first += records_per_chunk) {
      const size_t end = std::min(payloads.size(), first + records_per_chunk);
      std::vector<uint8_t> raw;
      for (size_t i = first; i < end; ++i) AppendFrame(BytesOf(payloads[i]), raw);
      std::vector<uint8_t> stored = raw;
      if (compression != Compression::kNone) {
        stored.clear();
        if (!CompressMember(compression, raw, stored).ok()) std::abort();
      }
      chunks_.push_back({.offset = shard_.size,
                         .size = static_cast<uint32_t>(stored.size()),
                         .raw_size = static_cast<uint32_t>(raw.size()),
                         .records = static_cast<uint32_t>(end - first),
                         .crc32c = Crc32c(stored),
                         .ordinal = first});
      shard_.size += stored.size();
      file.write(reinterpret_cast<const char*>(stored.data()),
                 static_cast<std::streamsize>(stored.size()));
    }
  }

  static StreamOptions Stream(const std::string& spec) {
    StreamOptions options;
    options.spec = ParseSpec(spec, "test").value();
    return options;
  }

  // All chunks, in file order.
  OpenWindow Window(uint64_t number) const {
    OpenWindow window;
    window.window = number;
    window.shards = {shard_};
    window.chunks = chunks_;
    window.shuffle = false;
    for (const ChunkRef& chunk : chunks_) window.rows += chunk.records;
    return window;
  }

 private:
  ShardRef shard_;
  std::vector<ChunkRef> chunks_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_TESTING_RECORD_DATA_H_
