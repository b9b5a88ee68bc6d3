// Reads chunks and packs their records.
#ifndef PENSTOCK_RECORDS_ENGINE_CHUNK_LOADER_H_
#define PENSTOCK_RECORDS_ENGINE_CHUNK_LOADER_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "records/engine/chunk.h"
#include "records/engine/chunk_damage.h"
#include "records/engine/chunk_layout.h"
#include "records/engine/file_cache.h"
#include "records/engine/listed_damage.h"
#include "records/engine/messages.h"
#include "records/engine/page_memory.h"
#include "records/engine/record_packer.h"
#include "records/engine/storage_speed.h"

namespace penstock {

// Memory that grows, and shrinks again after an unusually large use. Thread-compatible.
class Scratch {
 public:
  // Returns `size` bytes, not initialised. They are valid until the next call.
  std::span<uint8_t> Take(size_t size) {
    if (size > capacity_ || capacity_ > std::max(size, kKeepBytes)) {
      memory_.reset();
      memory_.reset(new uint8_t[size]);
      capacity_ = size;
    }
    return {memory_.get(), size};
  }
  void Free() {
    memory_.reset();
    capacity_ = 0;
  }

 private:
  static constexpr size_t kKeepBytes = size_t{1} << 20;
  std::unique_ptr<uint8_t[]> memory_;
  size_t capacity_ = 0;
};

// Reads each chunk with one pread. The bytes stay in the thread's cache until they are packed.
// Not thread-safe: keep one for each thread.
class ChunkLoader {
 public:
  // All arguments must outlive the loader; `memory` must also outlive its chunks. Every read is
  // reported to `speed`.
  ChunkLoader(FileCache& files, PageMemory& memory, StorageSpeed& speed)
      : files_(files), memory_(memory), speed_(speed) {}

  // Returns the chunk, without the records that `damage` lists, or nullopt with the reason in
  // `error`:
  // kNotFound, kPermissionDenied: the shard cannot be opened.
  // kUnavailable: reading failed twice.
  // kFailedPrecondition: the shard changed, was truncated, or has another number of records.
  // kDataLoss with damage: a record that is not listed is damaged.
  // kInvalidArgument: a record lacks a feature.
  std::optional<Chunk> Load(const ShardRef& shard, const ChunkRef& chunk,
                            const std::shared_ptr<const ChunkLayout>& layout,
                            const ListedDamage& damage, LoadError& error);

  // Returns the time spent on opening and reading files since the last call.
  std::chrono::steady_clock::duration TakeReadTime() { return std::exchange(read_time_, {}); }
  // Frees the memory that is kept between loads.
  void FreeMemory() {
    bytes_.Free();
    raw_.Free();
  }

 private:
  // Kept for the last few layouts. A layout is shared with the chunk store, which compares layouts
  // by address.
  struct Packer {
    std::shared_ptr<const ChunkLayout> layout;
    RecordPacker packer;
  };

  absl::Status ReadOnce(const ShardRef& shard, const ChunkRef& chunk, std::span<uint8_t> out);
  // Returns the chunk's bytes as they are in the file. `checksum_holds` says whether their checksum
  // is right.
  absl::StatusOr<std::span<const uint8_t>> Read(const ShardRef& shard, const ChunkRef& chunk,
                                                bool& checksum_holds);
  // Converts the chunk's bytes to TFRecord frames.
  absl::StatusOr<std::span<const uint8_t>> FramesOf(const ShardRef& shard, const ChunkRef& chunk,
                                                    std::span<const uint8_t> bytes);
  absl::StatusOr<RecordPacker*> PackerFor(const std::shared_ptr<const ChunkLayout>& layout);
  std::optional<Chunk> Pack(const ShardRef& shard, const ChunkRef& chunk, const ChunkLayout& layout,
                            RecordPacker& packer, std::span<const uint8_t> raw, LoadError& error);

  FileCache& files_;
  PageMemory& memory_;
  StorageSpeed& speed_;
  std::chrono::steady_clock::duration read_time_{};
  Scratch bytes_;
  Scratch raw_;
  std::list<Packer> packers_;  // Most recently used first.
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_ENGINE_CHUNK_LOADER_H_
