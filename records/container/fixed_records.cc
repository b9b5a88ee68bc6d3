#include "records/container/fixed_records.h"

#include "absl/strings/str_cat.h"

namespace penstock {

absl::StatusOr<RecordCutter::Cut> FixedRecordCutter::Next(std::span<const uint8_t> bytes,
                                                          bool at_end) {
  if (bytes.size() >= record_bytes_) {
    return Cut{Cut::What::kRecord, record_bytes_, bytes.first(record_bytes_)};
  }
  if (!at_end) return Cut{Cut::What::kMore, record_bytes_, {}};
  if (bytes.empty()) return Cut{};
  return absl::DataLossError(absl::StrCat("the last record has ", bytes.size(), " of ",
                                          record_bytes_,
                                          " bytes: the file is cut, or --record-bytes is wrong"));
}

}  // namespace penstock
