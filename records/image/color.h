// Rows of pixels from one kind to another, as Pillow's Image.convert() computes them. None throws
// and none allocates: libjpeg-turbo's errors jump over their callers.
#ifndef PENSTOCK_RECORDS_IMAGE_COLOR_H_
#define PENSTOCK_RECORDS_IMAGE_COLOR_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

// Luma of ITU-R BT.601 in 16 bits of fraction, rounded.
constexpr uint8_t Luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// `pixels` pixels from `in` to `out`, which must not overlap.
using ConvertRow = void (*)(const uint8_t* in, size_t pixels, uint8_t* out);

void GreyToRgb(const uint8_t* in, size_t pixels, uint8_t* out);
void RgbToGrey(const uint8_t* in, size_t pixels, uint8_t* out);
// CMYK as Adobe's programs store it, inverted: 255 is no ink.
void InvertedCmykToRgb(const uint8_t* in, size_t pixels, uint8_t* out);
void InvertedCmykToGrey(const uint8_t* in, size_t pixels, uint8_t* out);
// 16-bit big-endian grey. Values above 255 become 255: Pillow clips them and does not scale.
void Grey16ToGrey(const uint8_t* in, size_t pixels, uint8_t* out);
void Grey16ToRgb(const uint8_t* in, size_t pixels, uint8_t* out);

// What each sample value of a palette or of grey with less than 8 bits stands for.
struct ColorTable {
  std::array<std::array<uint8_t, 3>, 256> rgb{};

  // Grey levels of `bits` bits spread over 0 to 255. REQUIRES: bits is 1, 2, 4 or 8.
  static ColorTable Grey(int bits);
  void ToRgb(const uint8_t* in, size_t pixels, uint8_t* out) const;
  void ToGrey(const uint8_t* in, size_t pixels, uint8_t* out) const;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_COLOR_H_
