// Converts rows of pixels between formats, as Pillow's Image.convert() does. No function here
// throws or allocates, because libjpeg-turbo's errors jump over their callers.
#ifndef PENSTOCK_RECORDS_IMAGE_COLOR_H_
#define PENSTOCK_RECORDS_IMAGE_COLOR_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

// Returns the luma of ITU-R BT.601, computed with 16 fraction bits and rounded.
constexpr uint8_t Luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// Converts `pixels` pixels from `in` to `out`, which must not overlap.
using ConvertRow = void (*)(const uint8_t* in, size_t pixels, uint8_t* out);

void GreyToRgb(const uint8_t* in, size_t pixels, uint8_t* out);
void RgbToGrey(const uint8_t* in, size_t pixels, uint8_t* out);
// Converts CMYK as Adobe's programs store it, which is inverted: 255 means no ink.
void InvertedCmykToRgb(const uint8_t* in, size_t pixels, uint8_t* out);
void InvertedCmykToGrey(const uint8_t* in, size_t pixels, uint8_t* out);
// Converts 16-bit big-endian grey. Values above 255 become 255, because Pillow clips them and does
// not scale.
void Grey16ToGrey(const uint8_t* in, size_t pixels, uint8_t* out);
void Grey16ToRgb(const uint8_t* in, size_t pixels, uint8_t* out);

// The colour of each sample value of a palette, or of grey with 8 bits or fewer.
struct ColorTable {
  std::array<std::array<uint8_t, 3>, 256> rgb{};

  // Spreads grey levels of `bits` bits over 0 to 255. REQUIRES: bits is 1, 2, 4 or 8.
  static ColorTable Grey(int bits);
  void ToRgb(const uint8_t* in, size_t pixels, uint8_t* out) const;
  void ToGrey(const uint8_t* in, size_t pixels, uint8_t* out) const;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_COLOR_H_
