#include "records/engine/decoding.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "records/base/status.h"
#include "records/engine/part_buffer.h"
#include "records/engine/piece.h"

namespace penstock {
namespace {

absl::StatusOr<Decoding> CompileFor(const StreamOptions& options, WireDtype dtype) {
  PENSTOCK_ASSIGN_OR_RETURN(Program program, Program::Compile(options.spec, dtype));
  const size_t row_bytes = PieceRowBytes(program, options.record_ids);
  if (row_bytes > PartBuffer::kMaxPartBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("as ", WireDtypeName(dtype), " one row has ", row_bytes,
                     " bytes; a part of an answer has at most ", PartBuffer::kMaxPartBytes));
  }
  const auto rows_per_part = static_cast<uint32_t>(PartBuffer::kMaxPartBytes / row_bytes);
  return Decoding{std::move(program), row_bytes, rows_per_part};
}

}  // namespace

absl::StatusOr<Decodings> Decodings::Compile(const StreamOptions& options) {
  Decodings decodings;
  absl::Status error;
  for (WireDtype dtype :
       {WireDtype::kF64, WireDtype::kF32, WireDtype::kBf16, WireDtype::kI8, WireDtype::kPacked}) {
    const auto index = static_cast<size_t>(dtype);
    decodings.by_dtype_[index] = CompileFor(options, dtype);
    if (decodings.by_dtype_[index].ok()) {
      decodings.any_ = index;
    } else {
      error = decodings.by_dtype_[index].status();
    }
  }
  if (decodings.any_ == 0) return error;
  return decodings;
}

}  // namespace penstock
