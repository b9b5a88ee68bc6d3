#include "records/image/image_ops.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr double kMinRatio = 0.001, kMaxRatio = 1000;

absl::Status Invalid(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::Status CheckOp(const RandomResizedCropOp& op) {
  const CropRanges& ranges = op.ranges;
  if (!(ranges.area_min > 0 && ranges.area_min <= ranges.area_max && ranges.area_max <= 1)) {
    return Invalid(absl::StrCat("random_resized_crop: areas from ", ranges.area_min, " to ",
                                ranges.area_max, " are not 0 < area_min <= area_max <= 1"));
  }
  if (!(ranges.ratio_min >= kMinRatio && ranges.ratio_min <= ranges.ratio_max &&
        ranges.ratio_max <= kMaxRatio)) {
    return Invalid(absl::StrCat("random_resized_crop: ratios from ", ranges.ratio_min, " to ",
                                ranges.ratio_max, " are not ", kMinRatio,
                                " <= ratio_min <= ratio_max <= ", kMaxRatio));
  }
  return absl::OkStatus();
}

absl::Status CheckOp(const ResizeOp&) { return absl::OkStatus(); }

absl::Status CheckOp(const ResizeShorterOp& op) {
  if (op.side < 1 || op.side > ImageOps::kMaxSide) {
    return Invalid(
        absl::StrCat("resize_shorter: side ", op.side, " is not 1 to ", ImageOps::kMaxSide));
  }
  if (op.output.width > op.side || op.output.height > op.side) {
    return Invalid(absl::StrCat("center_crop: ", op.output.width, "x", op.output.height,
                                " pixels do not fit a picture whose shorter side is ", op.side));
  }
  return absl::OkStatus();
}

absl::Status CheckOp(const RandomCropOp& op) {
  if (op.pixels_around > ImageOps::kMaxSide) {
    return Invalid(absl::StrCat("random_crop: padding ", op.pixels_around, " is not 0 to ",
                                ImageOps::kMaxSide));
  }
  return absl::OkStatus();
}

}  // namespace

Size ImageOps::output() const {
  return std::visit([](const auto& op) { return op.output; }, crop);
}

ImageDecodeOptions ImageOps::decode_options() const {
  return {.channels = channels,
          .orient = orient,
          .fill_truncated = fill_truncated,
          .scale_grey16 = scale_grey16,
          .limits = limits};
}

size_t ImageOps::output_bytes() const {
  const Size size = output();
  return size_t{size.width} * size.height * static_cast<size_t>(channels);
}

absl::Status ImageOps::Validate() const {
  if (channels != 1 && channels != 3) {
    return Invalid(absl::StrCat("image: channels are ", channels, ", not 1 or 3"));
  }
  const Size size = output();
  if (size.width < 1 || size.width > kMaxSide || size.height < 1 || size.height > kMaxSide) {
    return Invalid(absl::StrCat("image: the output size ", size.width, "x", size.height,
                                " is missing, or not 1 to ", kMaxSide, " on each side"));
  }
  if (!(flip_probability >= 0 && flip_probability <= 1)) {
    return Invalid(absl::StrCat("image: flip is ", flip_probability,
                                ", but must be a probability from 0 to 1"));
  }
  if (scaled_decoding && interpolation == Interpolation::kNearest) {
    return Invalid(
        "image: scaled_decoding cannot be used with interpolation NEAREST, because it blends "
        "pixels: remove one of them");
  }
  if (scaled_decoding && std::holds_alternative<RandomCropOp>(crop)) {
    return Invalid("image: random_crop does not resize, so scaled_decoding has no use: remove it");
  }
  PENSTOCK_RETURN_IF_ERROR(limits.Validate());
  return std::visit([](const auto& op) { return CheckOp(op); }, crop);
}

}  // namespace penstock
