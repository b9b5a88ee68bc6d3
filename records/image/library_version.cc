#include "records/image/library_version.h"

#include <cstdlib>
#include <vector>

#include "base/bytes_of.h"
#include "base/sha256.h"
#include "records/image/image_transform.h"
#include "records/image/self_test_images.h"

namespace penstock {
namespace {

constexpr uint32_t kCropSide = 24;

ImageOps CropAndFlip() {
  ImageOps ops;
  ops.crop = RandomResizedCropOp{.output = {kCropSide, kCropSide}, .ranges = {}};
  ops.flip_probability = 0.5;
  return ops;
}

// A status is part of the digest, so a library that fails has another digest than one that works.
void Update(Sha256& digest, const absl::Status& status, const PixelView& pixels) {
  if (status.ok()) {
    digest.Update({pixels.data, pixels.bytes()});
  } else {
    digest.Update(BytesOf(status.message()));
  }
}

}  // namespace

std::string ImageLibraryDigest() {
  Sha256 digest;
  ImageDecoder decoder;
  ImageTransform transform;
  const ImageOps ops = CropAndFlip();
  std::vector<uint8_t> crop(ops.output_bytes());
  uint64_t key = 0;
  for (const std::span<const uint8_t> bytes : SelfTestImages()) {
    for (const uint32_t shrink : {1, 2, 4}) {
      const absl::StatusOr<DecodedImage> image = decoder.Decode(bytes, {.shrink = shrink});
      Update(digest, image.status(), image.ok() ? image->pixels : PixelView());
    }
    const absl::StatusOr<ImageNotes> notes = transform.Apply(bytes, ops, Uniforms(key++), crop);
    Update(digest, notes.status(), {crop.data(), kCropSide, kCropSide, ops.channels});
  }
  return digest.Hex();
}

uint64_t ImageLibraryVersion() {
  static const uint64_t version =
      std::strtoull(ImageLibraryDigest().substr(0, 16).c_str(), nullptr, 16);
  return version;
}

}  // namespace penstock
