// Pixels in memory, and memory that is kept between images.
#ifndef PENSTOCK_RECORDS_IMAGE_PIXELS_H_
#define PENSTOCK_RECORDS_IMAGE_PIXELS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penstock {

// Shape [height][width][channels], rows without padding. Borrows its bytes.
struct PixelView {
  const uint8_t* data = nullptr;
  uint32_t width = 0;
  uint32_t height = 0;
  int channels = 0;

  size_t row_bytes() const { return size_t{width} * static_cast<size_t>(channels); }
  size_t bytes() const { return row_bytes() * height; }
  const uint8_t* row(size_t y) const { return data + y * row_bytes(); }
};

// Some pixels of a picture, with the picture's coordinates of the first one.
struct PicturePart {
  PixelView pixels;
  uint32_t left = 0;
  uint32_t top = 0;
};

// Memory that grows and is used again, so that images of like size need no allocation. Not
// thread-safe.
class ScratchMemory {
 public:
  // More than this is given back by Trim().
  static constexpr size_t kKeptBytes = size_t{16} << 20;

  // At least `bytes` bytes, not initialised; what an earlier call returned is then gone.
  uint8_t* Reserve(size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset();
      memory_ = std::make_unique_for_overwrite<uint8_t[]>(bytes);
      capacity_ = bytes;
    }
    return memory_.get();
  }

  // Frees memory that one large image made grow. Call it when nothing in it is used any more.
  void Trim() {
    if (capacity_ <= kKeptBytes) return;
    memory_.reset();
    capacity_ = 0;
  }

 private:
  std::unique_ptr<uint8_t[]> memory_;
  size_t capacity_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_PIXELS_H_
