#include "base/drawing/png.h"

#include <png.h>

#include "absl/strings/str_cat.h"

namespace penstock {

absl::StatusOr<std::string> EncodePng(const Picture& picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  // A stride of 0 means 8 bits a sample and rows without padding.
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.pixels.data(), 0,
                                nullptr) == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("PNG of ", picture.width, "x", picture.height, " pixels: ", image.message));
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace penstock
