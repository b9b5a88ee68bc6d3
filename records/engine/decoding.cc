#include "records/engine/decoding.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "records/engine/part_buffer.h"
#include "records/engine/piece.h"
#include "records/engine/row_limit.h"

namespace penstock {
namespace {

// Equals what clients request at a time, so that a request that begins with a block is answered
// with one part. Few parts keep further jobs cheap, because their cost comes with each part. The
// blocks of two threads stay in L2 until they are sent, if L2 has 2 MiB a core.
constexpr size_t kBlockBytes = size_t{1000} << 10;
// With this multiple, strips seldom lie across blocks.
constexpr uint32_t kBlockMultiple = 16;
constexpr size_t kMaxSharedTensors = 8;

absl::StatusOr<Decoding> CompileFor(const StreamOptions& options, WireDtype dtype,
                                    SpecTables& tables) {
  PENSTOCK_ASSIGN_OR_RETURN(Program program, Program::Compile(options.spec, dtype, tables));
  PENSTOCK_RETURN_IF_ERROR(CheckRowSize(program, dtype, options.record_ids));
  const size_t row_bytes = PieceRowBytes(program, options.record_ids);
  const auto rows_per_part =
      static_cast<uint32_t>(std::max<size_t>(PartBuffer::kMaxPartBytes / row_bytes, 1));
  auto block_rows = static_cast<uint32_t>(kBlockBytes / row_bytes);
  if (block_rows > kBlockMultiple) block_rows -= block_rows % kBlockMultiple;
  // An image takes as long as hundreds of other rows, so a client that waits for one should not
  // wait for more.
  if (program.images().decodes()) block_rows = std::min(block_rows, 1U);
  if (program.tensors().size() > kMaxSharedTensors) block_rows = 0;
  return Decoding{std::move(program), row_bytes, rows_per_part, block_rows,
                  std::make_shared<StripUse>()};
}

// A limit of the spec is permanent, so a retry would be useless.
absl::Status ForGood(const absl::Status& status) {
  return absl::IsResourceExhausted(status) ? absl::InvalidArgumentError(status.message()) : status;
}

}  // namespace

absl::StatusOr<Decodings> Decodings::Compile(const StreamOptions& options) {
  Decodings decodings;
  SpecTables tables;
  absl::Status error;  // The last error: that of i8, which accepts every operation.
  for (WireDtype dtype :
       {WireDtype::kPacked, WireDtype::kF64, WireDtype::kF32, WireDtype::kBf16, WireDtype::kI8}) {
    const auto index = static_cast<size_t>(dtype);
    absl::StatusOr<Decoding>& decoding = decodings.by_dtype_[index];
    decoding = CompileFor(options, dtype, tables);
    if (decoding.ok()) {
      decodings.any_ = index;
      decodings.replaces_ |= options.replace_undecodable && decoding->program.fallible();
    } else {
      error = ForGood(decoding.status());
      decoding = error;
    }
  }
  if (decodings.any_ == 0) return error;
  // Memory for the spec in the key and for the names in each dtype's program.
  decodings.bytes_ = tables.bytes() + 4 * options.spec.ByteSizeLong();
  return decodings;
}

}  // namespace penstock
