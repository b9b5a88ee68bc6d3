#include "records/engine/decoding.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/engine/part_buffer.h"
#include "records/engine/piece.h"

namespace penstock {
namespace {

// What clients ask for at a time, so that a request that begins with a block is answered by one
// part; what a further job costs is by the part. The blocks of two threads still stay in L2 until
// they are sent, where it has 2 MiB a core.
constexpr size_t kBlockBytes = size_t{1000} << 10;
// Strips seldom lie across blocks.
constexpr uint32_t kBlockMultiple = 16;
constexpr size_t kMaxSharedTensors = 8;

absl::StatusOr<Decoding> CompileFor(const StreamOptions& options, WireDtype dtype,
                                    SpecTables& tables) {
  PENSTOCK_ASSIGN_OR_RETURN(Program program, Program::Compile(options.spec, dtype, tables));
  const size_t row_bytes = PieceRowBytes(program, options.record_ids);
  if (row_bytes > PartBuffer::kMaxRowBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("as ", WireDtypeName(dtype), " one row has ", row_bytes,
                     " bytes; the largest that fits has ", PartBuffer::kMaxRowBytes, " (3 MiB)"));
  }
  const auto rows_per_part =
      static_cast<uint32_t>(std::max<size_t>(PartBuffer::kMaxPartBytes / row_bytes, 1));
  auto block_rows = static_cast<uint32_t>(kBlockBytes / row_bytes);
  if (block_rows > kBlockMultiple) block_rows -= block_rows % kBlockMultiple;
  // An image takes as long as hundreds of other rows: who waits for one does not wait for more.
  if (program.images().decodes) block_rows = std::min(block_rows, 1U);
  if (program.tensors().size() > kMaxSharedTensors) block_rows = 0;
  return Decoding{std::move(program), row_bytes, rows_per_part, block_rows,
                  std::make_shared<StripUse>()};
}

}  // namespace

absl::StatusOr<Decodings> Decodings::Compile(const StreamOptions& options) {
  Decodings decodings;
  SpecTables tables;
  absl::Status error;
  for (WireDtype dtype :
       {WireDtype::kF64, WireDtype::kF32, WireDtype::kBf16, WireDtype::kI8, WireDtype::kPacked}) {
    const auto index = static_cast<size_t>(dtype);
    decodings.by_dtype_[index] = CompileFor(options, dtype, tables);
    if (decodings.by_dtype_[index].ok()) {
      decodings.any_ = index;
      const bool fallible = decodings.by_dtype_[index]->program.fallible();
      decodings.replaces_ |= options.replace_undecodable && fallible;
    } else {
      error = decodings.by_dtype_[index].status();
    }
  }
  if (decodings.any_ == 0) return error;
  // What names it, and the names in each dtype's program.
  decodings.bytes_ = tables.bytes() + 4 * options.spec.ByteSizeLong();
  return decodings;
}

}  // namespace penstock
