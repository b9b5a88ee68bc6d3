// The operation `image`.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"
#include "records/decode/compile_operations.h"
#include "records/decode/image_spec.h"

namespace penstock {
namespace {

using Doubles = google::protobuf::RepeatedField<double>;

template <typename Message>
Size SizeOf(const Message& message) {
  return {.width = message.width(), .height = message.height()};
}

// Sets `least` and `most` if the field is given. kInvalidArgument: it does not have two valid
// values.
absl::Status SetRange(absl::string_view field, const Doubles& values, double& least, double& most) {
  if (values.empty()) return absl::OkStatus();
  if (values.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        field, " has ", values.size(), " number(s): give the smallest and the largest"));
  }
  least = values[0];
  most = values[1];
  return absl::OkStatus();
}

absl::Status SetCrop(const v1::Image::RandomResizedCrop& crop, const v1::Image&, ImageOps& ops) {
  RandomResizedCropOp op{.output = SizeOf(crop)};
  CropRanges& ranges = op.ranges;
  PENSTOCK_RETURN_IF_ERROR(SetRange("area", crop.area(), ranges.area_min, ranges.area_max));
  PENSTOCK_RETURN_IF_ERROR(SetRange("ratio", crop.ratio(), ranges.ratio_min, ranges.ratio_max));
  ops.crop = op;
  return absl::OkStatus();
}

absl::Status SetCrop(const v1::Image::Resize& resize, const v1::Image&, ImageOps& ops) {
  ops.crop = ResizeOp{SizeOf(resize)};
  return absl::OkStatus();
}

absl::Status SetCrop(const v1::Image::ResizeShorter& resize, const v1::Image& image,
                     ImageOps& ops) {
  if (!image.has_center_crop()) {
    return absl::InvalidArgumentError(
        "resize_shorter needs center_crop { height: H width: W }, the size of the tensor");
  }
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(image.center_crop()));
  ops.crop = ResizeShorterOp{resize.side(), SizeOf(image.center_crop())};
  return absl::OkStatus();
}

absl::Status SetCrop(const v1::Image::RandomCrop& crop, const v1::Image&, ImageOps& ops) {
  const auto mode = crop.padding_mode();
  if (mode != v1::Image::RandomCrop::CONSTANT && mode != v1::Image::RandomCrop::REFLECT) {
    return absl::InvalidArgumentError(
        absl::StrCat("padding_mode ", static_cast<int>(mode), " is neither CONSTANT nor REFLECT"));
  }
  ops.crop =
      RandomCropOp{SizeOf(crop), crop.padding(),
                   mode == v1::Image::RandomCrop::REFLECT ? Padding::kReflect : Padding::kZero};
  return absl::OkStatus();
}

template <typename Crop>
absl::Status AddCrop(const Crop& crop, const v1::Image& image, ImageOps& ops) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(crop));
  return SetCrop(crop, image, ops);
}

absl::Status AddAnyCrop(const v1::Image& image, ImageOps& ops) {
  if (image.has_center_crop() && !image.has_resize_shorter()) {
    return absl::InvalidArgumentError("center_crop needs resize_shorter { side: N }");
  }
  switch (image.crop_case()) {
    case v1::Image::kRandomResizedCrop:
      return AddCrop(image.random_resized_crop(), image, ops);
    case v1::Image::kResize:
      return AddCrop(image.resize(), image, ops);
    case v1::Image::kResizeShorter:
      return AddCrop(image.resize_shorter(), image, ops);
    case v1::Image::kRandomCrop:
      return AddCrop(image.random_crop(), image, ops);
    case v1::Image::CROP_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "has no output size: give one of random_resized_crop, resize, resize_shorter with "
      "center_crop, random_crop");
}

absl::Status CheckEnums(const v1::Image& image) {
  if (!v1::Image::Interpolation_IsValid(image.interpolation())) {
    return absl::InvalidArgumentError(absl::StrCat("interpolation ",
                                                   static_cast<int>(image.interpolation()),
                                                   " is neither BILINEAR nor NEAREST"));
  }
  if (!v1::Image::Truncated_IsValid(image.truncated())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "truncated ", static_cast<int>(image.truncated()), " is neither ERROR nor FILL"));
  }
  if (!v1::Image::Grey16_IsValid(image.grey16())) {
    return absl::InvalidArgumentError(
        absl::StrCat("grey16 ", static_cast<int>(image.grey16()), " is neither CLIP nor SCALE"));
  }
  return absl::OkStatus();
}

bool IsRandom(const ImageOps& ops) {
  const bool crops = std::holds_alternative<RandomResizedCropOp>(ops.crop) ||
                     std::holds_alternative<RandomCropOp>(ops.crop);
  return crops || ops.flip_probability > 0;
}

}  // namespace

ImageLimits LimitsOf(const v1::Image& image) {
  ImageLimits limits;
  if (image.max_pixels() != 0) limits.max_pixels = image.max_pixels();
  if (image.max_scans() != 0) limits.max_scans = image.max_scans();
  return limits;
}

absl::StatusOr<ImageOps> ImageOpsOf(const v1::Image& image) {
  PENSTOCK_RETURN_IF_ERROR(CheckEnums(image));
  ImageOps ops;
  if (image.channels() != 0) ops.channels = static_cast<int>(image.channels());
  ops.orient = image.orient();
  ops.flip_probability = image.flip();
  if (image.interpolation() == v1::Image::NEAREST) ops.interpolation = Interpolation::kNearest;
  ops.fill_truncated = image.truncated() == v1::Image::FILL;
  ops.scale_grey16 = image.grey16() == v1::Image::SCALE;
  ops.scaled_decoding = image.scaled_decoding();
  ops.limits = LimitsOf(image);
  PENSTOCK_RETURN_IF_ERROR(AddAnyCrop(image, ops));
  PENSTOCK_RETURN_IF_ERROR(ops.Validate());
  return ops;
}

absl::Status AddImage(const std::string& name, const v1::Image& image, PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(image));
  PENSTOCK_ASSIGN_OR_RETURN(ImageOps ops, ImageOpsOf(image));
  FeatureUse use{image.feature(), FeatureType::kBytes, 0, VariableUse{}};
  PENSTOCK_ASSIGN_OR_RETURN(const size_t column, plan.AddFeature(std::move(use)));
  if (plan.wire_dtype() == WireDtype::kPacked) {
    return absl::InvalidArgumentError(
        "dtype 'packed' sends features as they are, and servers decode images: choose another "
        "--dtype");
  }
  plan.AddImages({.random = IsRandom(ops), .columns = {column}});
  const Size size = ops.output();
  const auto channels = static_cast<uint32_t>(ops.channels);
  return plan.AddTensor(
      name, Dtype::kU8, {size.height, size.width, channels},
      ImageStep{column, std::make_shared<const ImageOps>(std::move(ops)), image.view()});
}

}  // namespace penstock
