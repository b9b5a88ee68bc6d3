// Makes cells of a sheet from records that a decode spec decodes.
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

// The pictures are the tensors u8 [height, width, 1 or 3]. The label is the first tensor of
// operation `label`. Not thread-safe.
class DecodedCells {
 public:
  // kInvalidArgument: the spec has no tensor that is a picture. Other errors are those of
  // Program::Compile().
  static absl::StatusOr<DecodedCells> Create(const v1::DecodeSpec& spec, uint64_t augmentation_key,
                                             std::vector<std::string> class_names);

  // The number `record` determines the record's augmentation. If a record cannot be decoded, its
  // cell has a problem.
  SheetCell Make(uint64_t record, std::span<const uint8_t> payload);

 private:
  DecodedCells(RecordDecoder decoder, std::vector<std::string> class_names)
      : decoder_(std::move(decoder)), class_names_(std::move(class_names)) {}
  std::string Label() const;

  RecordDecoder decoder_;
  std::vector<std::string> class_names_;
  std::vector<size_t> pictures_;  // Indexes of the tensors.
  std::optional<size_t> label_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_SHEET_DECODED_CELLS_H_
