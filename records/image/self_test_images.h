// Five small JPEGs that are compiled in: 4:2:0, 4:2:2, 4:4:4, grey and progressive.
#ifndef PENSTOCK_RECORDS_IMAGE_SELF_TEST_IMAGES_H_
#define PENSTOCK_RECORDS_IMAGE_SELF_TEST_IMAGES_H_

#include <cstdint>
#include <span>

namespace penstock {

std::span<const std::span<const uint8_t>> SelfTestImages();

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_SELF_TEST_IMAGES_H_
