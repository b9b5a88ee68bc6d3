// A PNG with 16-bit grey.
#ifndef PENSTOCK_RECORDS_IMAGE_TESTING_GREY16_PNG_H_
#define PENSTOCK_RECORDS_IMAGE_TESTING_GREY16_PNG_H_

#include <string>

#include "absl/strings/escaping.h"

namespace penstock {

// One row of the values 0, 128, 129, 255, 256, 32768, 65407 and 65535.
inline std::string Grey16Png() {
  return absl::HexStringToBytes(
      "89504e470d0a1a0a0000000d494844520000000800000001100000000096fb6cdc0000001c494441"
      "547801011100eeff0000000080008100ff01008000ff7fffff209105fe0dd056b30000000049454e"
      "44ae426082");
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_TESTING_GREY16_PNG_H_
