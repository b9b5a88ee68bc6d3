// The messages between a client and an engine, as plain structs. proto/pieces.proto is the same on
// the wire, and docs/reference/protocol.md explains it.
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

// Sent once, before all other messages.
struct StreamOptions {
  v1::DecodeSpec spec;
  // Adds the tensor record_id (i64 [1]) as the last tensor of every part: the ordinal of the
  // record's chunk plus the record's index in the chunk.
  bool record_ids = false;
  // Defines the split. With threshold 0, no record is in the holdout split.
  std::string holdout_feature;
  uint32_t holdout_threshold = 0;
  // True if, as far as is known, the feature is one bytes value in every record. This is not sent:
  // for other splits, the protocol version excludes servers that support only this.
  bool holdout_by_one_value = true;
  // True if every shard holds TFRecord frames. This is not sent: for other shards, the protocol
  // version excludes servers that support only these.
  bool only_frames = true;
  std::string client;      // Names the client in logs.
  bool checksums = false;  // Asks for the CRC-32C of its bytes in every part.
  // Asks for replacements of rows that cannot be decoded. The next row of the window that can be
  // decoded replaces them.
  bool replace_undecodable = false;
};

struct ShardRef {
  std::string path;  // Relative to the data root.
  Container container = Container::kTfRecord;
  uint64_t size = 0;
  uint32_t label = 0;  // Number of the class, for kImageFile.
};

struct ChunkRef {
  uint32_t shard = 0;  // Index into OpenWindow::shards.
  uint64_t offset = 0;
  uint32_t size = 0;      // Bytes in the file.
  uint32_t raw_size = 0;  // Bytes as TFRecord frames. Equal to size for plain TFRecord.
  uint32_t records = 0;
  uint32_t holdout = 0;  // Number of the records that are in the holdout split.
  uint32_t crc32c = 0;   // CRC of the bytes in the file.
  uint64_t ordinal = 0;  // Number of its first record in the manifest.
};

// A record that servers agreed is damaged.
struct DamagedRecord {
  uint32_t chunk = 0;          // Index into OpenWindow::chunks, including the spare.
  uint32_t record = 0;         // Index in the chunk.
  bool rest_of_chunk = false;  // All later records of the chunk are damaged too.

  friend bool operator==(const DamagedRecord&, const DamagedRecord&) = default;
};

struct OpenWindow {
  uint64_t window = 0;  // Chosen by the client, unique on the stream.
  std::vector<ShardRef> shards;
  std::vector<ChunkRef> chunks;
  Split split = Split::kAll;
  bool shuffle = true;
  uint64_t key = 0;        // Key for shuffling the window's rows.
  uint32_t rows = 0;       // The number of rows that the client expects.
  uint64_t needed_at = 0;  // Loads run in ascending order of this.
  // Each of these is replaced by the next good record of its chunk that belongs to the split,
  // cyclically, and then by one of the following chunks of the window.
  std::vector<DamagedRecord> damaged = {};
  // The last chunk is a spare. It has no rows in the window. If no other chunk has a good record,
  // its first good record of the split stands for all rows.
  bool has_spare = false;
  // Key of everything random about the pixels of images. It has no effect if nothing is random.
  uint64_t augmentation_key = 0;

  // The number of chunks that have rows.
  size_t num_row_chunks() const { return chunks.size() - (has_spare ? 1 : 0); }
};

// Requests rows first_row + i * stride + [0, rows) for i < count, in that order.
struct Fetch {
  uint64_t request = 0;  // Chosen by the client, unique on the stream.
  uint64_t window = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  uint32_t stride = 0;
  uint32_t count = 1;
  WireDtype dtype = WireDtype::kI8;
  uint64_t needed_at = 0;  // Requests are answered in ascending order of this.
};

// Says which record is damaged, with a status of kDataLoss.
struct Damage {
  std::string shard;
  uint64_t chunk_offset = 0;
  uint32_t record = 0;         // Index in the chunk.
  bool rest_of_chunk = false;  // True if the framing is broken there.
};

// A row whose own record cannot be decoded, and was replaced by another.
struct ReplacedRow {
  uint32_t row = 0;     // Row of the part.
  uint64_t record = 0;  // Ordinal of the record that cannot be decoded.
  std::string why;      // May be empty.

  friend bool operator==(const ReplacedRow&, const ReplacedRow&) = default;
};

// Exactly one of `request` and `window` is set.
struct StreamError {
  std::optional<uint64_t> request;
  std::optional<uint64_t> window;
  absl::Status status;
  std::optional<Damage> damage;
  // Set only with kDataLoss: no record of the window's split is good or can be decoded, not even
  // one of its spare. The window can be opened with another spare.
  bool needs_spare = false;
};

// The window is loaded: its rows need not wait for chunks any more.
struct WindowReady {
  uint64_t window = 0;
  uint64_t read_bytes = 0;  // Bytes read from disk for it; 0 if all chunks were in memory.
};

// Bytes of parts that the client may have requested and not received. If the same value is sent
// again, the server is well, and what was requested waits: for a thread if `working`, otherwise for
// memory.
struct Credit {
  uint64_t bytes = 0;
  bool working = false;
};

// The server ends after `grace_ms`; 0 means that it may end at any time.
struct Draining {
  uint32_t grace_ms = 0;
};

// The facts that a server states about itself in its Hello.
struct ServerInfo {
  uint64_t instance = 0;  // New whenever a server starts.
  uint32_t cores = 0;
  uint32_t decoder_version = 0;
  uint64_t spec_fingerprint = 0;
  uint64_t memory_budget = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_MESSAGES_H_
