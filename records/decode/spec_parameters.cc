#include "records/decode/spec_parameters.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace penstock {
namespace {

template <typename Message>
void SetSize(uint32_t side, Message& message) {
  message.set_height(side);
  message.set_width(side);
}

void SetOutput(uint32_t side, v1::Image& image) {
  switch (image.crop_case()) {
    case v1::Image::kRandomResizedCrop:
      return SetSize(side, *image.mutable_random_resized_crop());
    case v1::Image::kResize:
      return SetSize(side, *image.mutable_resize());
    case v1::Image::kResizeShorter:
      image.mutable_resize_shorter()->set_side(
          static_cast<uint32_t>((uint64_t{side} * 16 + 7) / 14));
      return SetSize(side, *image.mutable_center_crop());
    case v1::Image::kRandomCrop:
      return SetSize(side, *image.mutable_random_crop());
    case v1::Image::CROP_NOT_SET:
      return;
  }
}

// Returns whether there is an image operation.
bool SetOutputs(uint32_t side, v1::DecodeSpec& spec) {
  bool found = false;
  for (v1::TensorSpec& tensor : *spec.mutable_tensor()) {
    if (!tensor.has_image()) continue;
    SetOutput(side, *tensor.mutable_image());
    found = true;
  }
  return found;
}

bool AddToLabels(int64_t add, v1::DecodeSpec& spec) {
  bool found = false;
  for (v1::TensorSpec& tensor : *spec.mutable_tensor()) {
    if (!tensor.has_label()) continue;
    tensor.mutable_label()->set_add(add);
    found = true;
  }
  return found;
}

absl::Status Apply(absl::string_view parameter, v1::DecodeSpec& spec) {
  uint32_t side = 0;
  if (absl::SimpleAtoi(parameter, &side) && side > 0 && SetOutputs(side, spec)) {
    return absl::OkStatus();
  }
  absl::string_view number = parameter;
  int64_t add = 0;
  const bool label = absl::ConsumePrefix(&number, "label") && !number.empty() &&
                     (number[0] == '+' || number[0] == '-');
  if (label && absl::SimpleAtoi(number, &add) && AddToLabels(add, spec)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("parameter '", parameter,
                   "' is neither a size of images (72) nor a number to add to labels (label-1)"));
}

}  // namespace

absl::Status ApplyParameters(absl::string_view parameters, v1::DecodeSpec& spec) {
  for (const absl::string_view parameter : absl::StrSplit(parameters, ',')) {
    PENSTOCK_RETURN_IF_ERROR(Apply(parameter, spec));
  }
  return absl::OkStatus();
}

}  // namespace penstock
