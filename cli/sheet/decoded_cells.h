// Records as a decode spec makes them, for a sheet.
#ifndef PENSTOCK_CLI_SHEET_DECODED_CELLS_H_
#define PENSTOCK_CLI_SHEET_DECODED_CELLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/data/record_decoder.h"
#include "cli/sheet/contact_sheet.h"
#include "proto/decode_spec.pb.h"

namespace penstock {

// Pictures are the tensors u8 [height, width, 1 or 3]; the label is the first tensor of operation
// `label`. Not thread-safe.
class DecodedCells {
 public:
  // kInvalidArgument: the spec has no tensor that is a picture. Further errors as
  // Program::Compile().
  static absl::StatusOr<DecodedCells> Create(const v1::DecodeSpec& spec, uint64_t augmentation_key,
                                             std::vector<std::string> class_names);

  // `record` is the number that the record's augmentation follows from. A record that cannot be
  // decoded is a cell with a problem.
  SheetCell Make(uint64_t record, std::span<const uint8_t> payload);

 private:
  DecodedCells(RecordDecoder decoder, std::vector<std::string> class_names)
      : decoder_(std::move(decoder)), class_names_(std::move(class_names)) {}
  std::string Label() const;

  RecordDecoder decoder_;
  std::vector<std::string> class_names_;
  std::vector<size_t> pictures_;  // Which tensors.
  std::optional<size_t> label_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_DECODED_CELLS_H_
