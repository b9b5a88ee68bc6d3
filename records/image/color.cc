#include "records/image/color.h"

#include <algorithm>

namespace penstock {
namespace {

// Returns a * b / 255, rounded, for a and b up to 255 (Pillow's MULDIV255).
constexpr uint32_t MultiplyDivide255(uint32_t a, uint32_t b) {
  const uint32_t product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

std::array<uint8_t, 3> RgbOfInvertedCmyk(const uint8_t* cmyk) {
  const uint32_t light = cmyk[3];  // 255 - black.
  std::array<uint8_t, 3> rgb;
  for (size_t i = 0; i < 3; ++i) {
    rgb[i] = static_cast<uint8_t>(light - MultiplyDivide255(255u - cmyk[i], light));
  }
  return rgb;
}

uint8_t Clip16(const uint8_t* big_endian) { return big_endian[0] != 0 ? 255 : big_endian[1]; }

}  // namespace

void GreyToRgb(const uint8_t* in, size_t pixels, uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i, out += 3) out[0] = out[1] = out[2] = in[i];
}

void RgbToGrey(const uint8_t* in, size_t pixels, uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i, in += 3) out[i] = Luma(in[0], in[1], in[2]);
}

void InvertedCmykToRgb(const uint8_t* in, size_t pixels, uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i, in += 4, out += 3) {
    const std::array<uint8_t, 3> rgb = RgbOfInvertedCmyk(in);
    std::copy(rgb.begin(), rgb.end(), out);
  }
}

void InvertedCmykToGrey(const uint8_t* in, size_t pixels, uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i, in += 4) {
    const std::array<uint8_t, 3> rgb = RgbOfInvertedCmyk(in);
    out[i] = Luma(rgb[0], rgb[1], rgb[2]);
  }
}

void Grey16ToGrey(const uint8_t* in, size_t pixels, uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i, in += 2) out[i] = Clip16(in);
}

void Grey16ToRgb(const uint8_t* in, size_t pixels, uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i, in += 2, out += 3) out[0] = out[1] = out[2] = Clip16(in);
}

ColorTable ColorTable::Grey(int bits) {
  ColorTable table;
  const int levels = 1 << bits;
  for (int i = 0; i < levels; ++i) {
    table.rgb[static_cast<size_t>(i)].fill(static_cast<uint8_t>(i * 255 / (levels - 1)));
  }
  return table;
}

void ColorTable::ToRgb(const uint8_t* in, size_t pixels, uint8_t* out) const {
  for (size_t i = 0; i < pixels; ++i, out += 3) std::copy_n(rgb[in[i]].data(), 3, out);
}

void ColorTable::ToGrey(const uint8_t* in, size_t pixels, uint8_t* out) const {
  for (size_t i = 0; i < pixels; ++i) {
    const std::array<uint8_t, 3>& color = rgb[in[i]];
    out[i] = Luma(color[0], color[1], color[2]);
  }
}

}  // namespace penstock
