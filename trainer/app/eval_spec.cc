#include "trainer/app/eval_spec.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "records/image/image_ops.h"

namespace penstock {
namespace {

// 8/7 of `side`, rounded, as in images-eval.
uint32_t ShorterSideFor(uint32_t side) {
  const uint64_t shorter = (uint64_t{side} * 16 + 7) / 14;
  return static_cast<uint32_t>(std::min<uint64_t>(shorter, ImageOps::kMaxSide));
}

void TakeCentralPart(uint32_t height, uint32_t width, v1::Image& image) {
  image.mutable_resize_shorter()->set_side(ShorterSideFor(std::max(height, width)));
  image.mutable_center_crop()->set_height(height);
  image.mutable_center_crop()->set_width(width);
}

bool FlipsAtRandom(const v1::Image& image) { return image.flip() > 0 && image.flip() < 1; }

void RemoveChance(v1::Image& image) {
  if (FlipsAtRandom(image)) image.clear_flip();
  if (!image.has_random_resized_crop()) return;
  // A copy, because TakeCentralPart() clears the field.
  const v1::Image::RandomResizedCrop crop = image.random_resized_crop();
  TakeCentralPart(crop.height(), crop.width(), image);
}

}  // namespace

v1::DecodeSpec EvalSpecOf(v1::DecodeSpec spec) {
  for (v1::TensorSpec& tensor : *spec.mutable_tensor()) {
    if (tensor.has_image()) RemoveChance(*tensor.mutable_image());
  }
  return spec;
}

std::string RandomOperationsOf(const v1::DecodeSpec& spec) {
  std::vector<std::string> found;
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (!tensor.has_image()) continue;
    const v1::Image& image = tensor.image();
    const std::string of = absl::StrCat(" of tensor '", tensor.name(), "'");
    if (image.has_random_resized_crop()) found.push_back(absl::StrCat("random_resized_crop", of));
    if (image.has_random_crop()) found.push_back(absl::StrCat("random_crop", of));
    if (FlipsAtRandom(image)) found.push_back(absl::StrCat("flip", of));
  }
  return absl::StrJoin(found, ", ");
}

const v1::Image* ImageOf(const v1::DecodeSpec& spec) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (tensor.name() == "image" && tensor.has_image()) return &tensor.image();
  }
  return nullptr;
}

}  // namespace penstock
