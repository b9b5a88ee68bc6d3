#include "records/engine/row_limit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "records/engine/part_buffer.h"
#include "records/engine/piece.h"

namespace penstock {

absl::Status CheckRowSize(const Program& program, WireDtype dtype, bool record_ids) {
  const size_t row_bytes = PieceRowBytes(program, record_ids);
  if (row_bytes <= PartBuffer::kMaxRowBytes) return absl::OkStatus();
  const TensorInfo& largest = *std::max_element(
      program.tensors().begin(), program.tensors().end(),
      [](const TensorInfo& a, const TensorInfo& b) { return a.row_bytes < b.row_bytes; });
  return absl::ResourceExhaustedError(absl::StrCat(
      "as ", WireDtypeName(dtype), " one row has ", row_bytes, " bytes; the largest that fits has ",
      PartBuffer::kMaxRowBytes, " (3 MiB). Its largest tensor is '", largest.name, "', ",
      DtypeName(largest.dtype), " [", absl::StrJoin(largest.shape, ", "), "] of feature '",
      ShownName(program.features()[largest.column]), "': make it smaller in the spec (--spec)"));
}

}  // namespace penstock
