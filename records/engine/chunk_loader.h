// Reads a chunk and packs its records.
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
  // `size` bytes, not initialised; valid until the next call.
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

// One pread a chunk; its bytes stay in the thread's cache until they are packed. Not thread-safe:
// one per thread.
class ChunkLoader {
 public:
  // All must outlive it, `memory` its chunks too. `speed` is told of every read.
  ChunkLoader(FileCache& files, PageMemory& memory, StorageSpeed& speed)
      : files_(files), memory_(memory), speed_(speed) {}

  // The whole chunk but for the records that `damage` lists, or nullopt with the reason in `error`:
  // kNotFound, kPermissionDenied: the shard. kUnavailable: reading failed twice.
  // kFailedPrecondition: the shard changed, was cut, or holds another number of records.
  // kDataLoss with damage: a record that is not listed is damaged. kInvalidArgument: a record lacks
  // a feature.
  std::optional<Chunk> Load(const ShardRef& shard, const ChunkRef& chunk,
                            const std::shared_ptr<const ChunkLayout>& layout,
                            const ListedDamage& damage, LoadError& error);

  // Of opening and reading files, since it was last asked.
  std::chrono::steady_clock::duration TakeReadTime() { return std::exchange(read_time_, {}); }
  // That it keeps between loads.
  void FreeMemory() {
    bytes_.Free();
    raw_.Free();
  }

 private:
  // Of the last few layouts; shared with the chunk store, which compares them by address.
  struct Packer {
    std::shared_ptr<const ChunkLayout> layout;
    RecordPacker packer;
  };

  absl::Status ReadOnce(const ShardRef& shard, const ChunkRef& chunk, std::span<uint8_t> out);
  // The chunk's bytes as in the file, their checksum verified.
  absl::StatusOr<std::span<const uint8_t>> Read(const ShardRef& shard, const ChunkRef& chunk,
                                                bool& checksum_holds);
  // The chunk's records as TFRecord frames, from its bytes in the file.
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
