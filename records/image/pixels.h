// Views of pixels, and memory that is reused between images.
#ifndef PENSTOCK_RECORDS_IMAGE_PIXELS_H_
#define PENSTOCK_RECORDS_IMAGE_PIXELS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penstock {

// Shape [height][width][channels]; rows have no padding. Borrows its bytes.
struct PixelView {
  const uint8_t* data = nullptr;
  uint32_t width = 0;
  uint32_t height = 0;
  int channels = 0;

  size_t row_bytes() const { return size_t{width} * static_cast<size_t>(channels); }
  size_t bytes() const { return row_bytes() * height; }
  const uint8_t* row(size_t y) const { return data + y * row_bytes(); }
};

// A part of a picture, with the coordinates of its first pixel in the picture.
struct PicturePart {
  PixelView pixels;
  uint32_t left = 0;
  uint32_t top = 0;
};

// Memory that grows and is reused, so that images of similar size need no allocation. Not
// thread-safe.
class ScratchMemory {
 public:
  static constexpr size_t kKeptBytes = size_t{16} << 20;

  // Returns at least `bytes` bytes, not initialised. The memory of an earlier call becomes invalid.
  uint8_t* Reserve(size_t bytes) {
    if (bytes > capacity_) {
      memory_.reset();
      memory_ = std::make_unique_for_overwrite<uint8_t[]>(bytes);
      capacity_ = bytes;
    }
    return memory_.get();
  }

  size_t capacity() const { return capacity_; }

  // Frees the memory if it has grown beyond `kept` bytes for a large image. Call it when nothing in
  // it is in use.
  void Trim(size_t kept = kKeptBytes) {
    if (capacity_ <= kept) return;
    memory_.reset();
    capacity_ = 0;
  }

 private:
  std::unique_ptr<uint8_t[]> memory_;
  size_t capacity_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_PIXELS_H_
