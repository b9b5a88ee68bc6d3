// Detects gzip and zstd, and decompresses them within stated bounds.
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

// Returns "none", "gzip" or "zstd".
absl::string_view CompressionName(Compression compression);
// Returns kInvalidArgument for an unknown name.
absl::StatusOr<Compression> ParseCompression(absl::string_view name);

// Detects the compression from the first bytes of a file; 12 are enough. Bytes with a valid
// TFRecord header are kNone, whatever they look like.
Compression DetectCompression(std::span<const uint8_t> head);

// Appends `data` to `out` as one gzip member, or as one zstd frame with its checksum.
// kInvalidArgument: `data` has more than about 2 GiB. REQUIRES: compression is not kNone.
absl::Status CompressMember(Compression compression, std::span<const uint8_t> data,
                            std::vector<uint8_t>& out);

// Decompresses gzip members or zstd frames one after the other, in pieces of any size. Below,
// "member" means either. Reuses its memory.
// Not thread-safe: keep one for each thread.
class Decompressor {
 public:
  // REQUIRES: compression is not kNone.
  explicit Decompressor(Compression compression);
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;
  ~Decompressor();

  Compression compression() const;

  // Prepares for the start of a member, whatever came before.
  void Reset();

  // Decompresses from the front of `in` to the front of `out`, and advances both, until one is
  // empty or a member ends. Returns true if a member ended; another may follow.
  // kDataLoss: the bytes are no valid member; `in` then begins near the damage.
  // kResourceExhausted: out of memory, or a zstd frame needs a window of more than 128 MiB (zstd's
  // own limit).
  absl::StatusOr<bool> Step(std::span<const uint8_t>& in, std::span<uint8_t>& out);

  // Decompresses `in`, which holds whole members, to exactly out.size() bytes. Never writes more
  // than out.size() bytes.
  // kDataLoss: the bytes are damaged or truncated (with the offset in `in`), or hold another number
  // of bytes.
  // kResourceExhausted: as for Step().
  absl::Status DecompressExactly(std::span<const uint8_t> in, std::span<uint8_t> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_COMPRESSION_H_
