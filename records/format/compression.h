// gzip and zstd: detection, and decompression within stated bounds.
#ifndef PENSTOCK_RECORDS_FORMAT_COMPRESSION_H_
#define PENSTOCK_RECORDS_FORMAT_COMPRESSION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

enum class Compression : uint8_t { kNone, kGzip, kZstd };

// "none", "gzip", "zstd".
absl::string_view CompressionName(Compression compression);
absl::StatusOr<Compression> ParseCompression(absl::string_view name);

// By the first bytes of a file; 12 are enough. What has a valid TFRecord header is kNone whatever
// its first bytes look like.
Compression DetectCompression(std::span<const uint8_t> head);

// Appends `data` as one gzip member or zstd frame (with its checksum) to `out`.
// REQUIRES: compression is not kNone.
absl::Status CompressMember(Compression compression, std::span<const uint8_t> data,
                            std::vector<uint8_t>& out);

// Decompresses gzip members or zstd frames one after the other, in pieces of any size.
// Not thread-safe: keep one per thread; it recycles its memory.
class Decompressor {
 public:
  // REQUIRES: compression is not kNone.
  explicit Decompressor(Compression compression);
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;
  ~Decompressor();

  Compression compression() const;

  // To the start of a member, whatever came before.
  void Reset();

  // Takes bytes from the front of `in` and writes to the front of `out`, advancing both, until one
  // is empty or a member ends. True: a member ended, and the next one may follow.
  // kDataLoss: the bytes are no such member; `in` then begins near the damage. kResourceExhausted:
  // no memory, or a zstd frame that needs a window of more than 128 MiB (zstd's own limit).
  absl::StatusOr<bool> Step(std::span<const uint8_t>& in, std::span<uint8_t>& out);

  // Decompresses `in`, whole members, to exactly out.size() bytes.
  // kDataLoss: damaged or cut (with the offset in `in`), or the members hold another number of
  // bytes; never more than out.size() are written. kResourceExhausted: as Step().
  absl::Status DecompressExactly(std::span<const uint8_t> in, std::span<uint8_t> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_COMPRESSION_H_
