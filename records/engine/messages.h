// What a client and an engine say to each other, as plain structs. proto/pieces.proto is the same
// on the wire; docs/reference/protocol.md tells the story.
#ifndef PENSTOCK_RECORDS_ENGINE_MESSAGES_H_
#define PENSTOCK_RECORDS_ENGINE_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/dtype.h"
#include "proto/decode_spec.pb.h"
#include "records/container/container.h"
#include "records/dataset/split.h"
#include "records/format/record_id.h"

namespace penstock {

// Said once, before everything else.
struct StreamOptions {
  v1::DecodeSpec spec;
  // Adds the tensor record_id (i64 [1]) as the last one of every part: the ordinal of the record's
  // chunk + the record's place in that chunk.
  bool record_ids = false;
  // The split's definition; threshold 0: no record is in holdout.
  std::string holdout_feature;
  uint32_t holdout_threshold = 0;
  // As far as is known the feature is one bytes value in every record. Not on the wire: servers
  // that know nothing else are refused for other splits by their version.
  bool holdout_by_one_value = true;
  // Every shard holds TFRecord frames. Not on the wire: servers that know nothing else are refused
  // for other shards by their version.
  bool only_frames = true;
  std::string client;      // For logs.
  bool checksums = false;  // Every part carries the CRC32C of its bytes.
  // A row that cannot be decoded is replaced by the next row of its window that can.
  bool replace_undecodable = false;
};

struct ShardRef {
  std::string path;  // Relative to the data root.
  Container container = Container::kTfRecord;
  uint64_t size = 0;
  uint32_t label = 0;  // The class of a kImageFile.
};

struct ChunkRef {
  uint32_t shard = 0;  // Index into OpenWindow::shards.
  uint64_t offset = 0;
  uint32_t size = 0;      // Bytes in the file.
  uint32_t raw_size = 0;  // As TFRecord frames; equal to size where the file holds those.
  uint32_t records = 0;
  uint32_t holdout = 0;  // Of these, in the holdout split.
  uint32_t crc32c = 0;   // Of the bytes in the file.
  uint64_t ordinal = 0;  // Number of its first record over the manifest.
};

// A record that servers agreed is damaged.
struct DamagedRecord {
  uint32_t chunk = 0;          // Index into OpenWindow::chunks, the spare included.
  uint32_t record = 0;         // In the chunk.
  bool rest_of_chunk = false;  // All that follow in the chunk are damaged too.

  friend bool operator==(const DamagedRecord&, const DamagedRecord&) = default;
};

struct OpenWindow {
  uint64_t window = 0;  // Chosen by the client, unique on the stream.
  std::vector<ShardRef> shards;
  std::vector<ChunkRef> chunks;
  Split split = Split::kAll;
  bool shuffle = true;
  uint64_t key = 0;        // Of the permutation of the window's rows.
  uint32_t rows = 0;       // What the client counted.
  uint64_t needed_at = 0;  // Loads run in ascending order of this.
  // Each is replaced by the next good record of its chunk that belongs to the split, cyclically,
  // then of the following chunks of the window.
  std::vector<DamagedRecord> damaged = {};
  // The last chunk is a spare. It has no rows in the window: its first good record of the split
  // stands for all of them if no other chunk has a good one.
  bool has_spare = false;
  // Decides what is random about the pixels of images; meaningless where nothing is.
  uint64_t augmentation_key = 0;

  // Of those that have rows.
  size_t num_row_chunks() const { return chunks.size() - (has_spare ? 1 : 0); }
};

// Rows first_row + i * stride + [0, rows) for i < count, in that order.
struct Fetch {
  uint64_t request = 0;  // Chosen by the client, unique on the stream.
  uint64_t window = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t stride = 0;
  uint32_t count = 1;
  WireDtype dtype = WireDtype::kI8;
  uint64_t needed_at = 0;  // Answered in ascending order of this.
};

// Which record is damaged, with a status of kDataLoss.
struct Damage {
  std::string shard;
  uint64_t chunk_offset = 0;
  uint32_t record = 0;         // In the chunk.
  bool rest_of_chunk = false;  // The framing broke there.
};

// A row for which another one stands, since its own record cannot be decoded.
struct ReplacedRow {
  uint32_t row = 0;     // Of the part.
  uint64_t record = 0;  // The ordinal of the record that cannot be decoded.
  std::string why;      // May be empty.

  friend bool operator==(const ReplacedRow&, const ReplacedRow&) = default;
};

// Exactly one of request and window is set.
struct StreamError {
  std::optional<uint64_t> request;
  std::optional<uint64_t> window;
  absl::Status status;
  std::optional<Damage> damage;
  // With kDataLoss: no record of the window's split is good or can be decoded, not even of its
  // spare. It can be opened with another spare.
  bool needs_spare = false;
};

// A window is loaded: its rows no longer wait for chunks.
struct WindowReady {
  uint64_t window = 0;
  uint64_t read_bytes = 0;  // From disk for it; 0: the chunk store had all of them.
};

// Bytes of parts that the client may have asked for and not received. The same value again: the
// server is well, and windows that rows were asked of wait for memory.
struct Credit {
  uint64_t bytes = 0;
};

// The server ends after `grace_ms`; 0: at any time.
struct Draining {
  uint32_t grace_ms = 0;
};

// What a server says of itself in its Hello.
struct ServerInfo {
  uint64_t instance = 0;  // New at each start of a server.
  uint32_t cores = 0;
  uint32_t decoder_version = 0;
  uint64_t spec_fingerprint = 0;
  uint64_t memory_budget = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_MESSAGES_H_
