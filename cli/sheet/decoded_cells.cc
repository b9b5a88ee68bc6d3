#include "cli/sheet/decoded_cells.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/data/tensor_text.h"
#include "cli/sheet/sheet_label.h"

namespace penstock {
namespace {

bool IsPicture(const TensorInfo& tensor) {
  return tensor.dtype == Dtype::kU8 && tensor.shape.size() == 3 &&
         (tensor.shape[2] == 1 || tensor.shape[2] == 3);
}

// Returns the tensor that the spec's first label becomes.
std::optional<size_t> LabelOf(const v1::DecodeSpec& spec, std::span<const TensorInfo> tensors) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (!tensor.has_label()) continue;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].name == tensor.name() && tensors[i].dtype == Dtype::kI64) return i;
    }
  }
  return std::nullopt;
}

std::string NamesOf(std::span<const TensorInfo> tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const TensorInfo& tensor) {
    absl::StrAppend(out, tensor.name, " (", TypeOf(tensor), ")");
  });
}

}  // namespace

absl::StatusOr<DecodedCells> DecodedCells::Create(const v1::DecodeSpec& spec,
                                                  uint64_t augmentation_key,
                                                  std::vector<std::string> class_names) {
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(spec, WireDtype::kF32));
  PENSTOCK_ASSIGN_OR_RETURN(RecordDecoder decoder,
                            RecordDecoder::Create(program, augmentation_key));
  DecodedCells cells(std::move(decoder), std::move(class_names));
  const std::span<const TensorInfo> tensors = program.tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (IsPicture(tensors[i])) cells.pictures_.push_back(i);
  }
  if (cells.pictures_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the spec has no picture tensor, u8 [height, width, 1 or 3]; its tensors are ",
                     NamesOf(tensors)));
  }
  cells.label_ = LabelOf(spec, tensors);
  return cells;
}

SheetCell DecodedCells::Make(uint64_t record, std::span<const uint8_t> payload) {
  SheetCell cell{.record = record};
  if (absl::Status decoded = decoder_.DecodeOne(payload, record); !decoded.ok()) {
    cell.problem = std::string(decoded.message());
    return cell;
  }
  cell.label = Label();
  for (const size_t i : pictures_) {
    const TensorInfo& tensor = decoder_.program().tensors()[i];
    cell.pictures.push_back(
        {tensor.name, {tensor.shape[1], tensor.shape[0], tensor.shape[2], decoder_.blocks()[i]}});
  }
  return cell;
}

std::string DecodedCells::Label() const {
  if (!label_) return "";
  int64_t value;
  std::memcpy(&value, decoder_.blocks()[*label_].data(), sizeof(value));
  return LabelText(decoder_.program().tensors()[*label_].name, value, class_names_);
}

}  // namespace penstock
