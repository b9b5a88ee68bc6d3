// Large images for tests of memory and speed, encoded by the libraries.
#ifndef PENSTOCK_RECORDS_IMAGE_TESTING_LARGE_IMAGES_H_
#define PENSTOCK_RECORDS_IMAGE_TESTING_LARGE_IMAGES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace penstock {

struct JpegKind {
  int quality = 90;
  int horizontal = 2;  // Sampling factors of luma, and of black.
  int vertical = 2;
  bool progressive = false;
  int components = 3;  // 1 for grey, 3 for YCbCr, 4 for YCCK with an invented black.
  int chroma_horizontal = 1;
  int chroma_vertical = 1;
  unsigned restart_interval = 0;  // Units between restart markers; 0 for no markers.
};

// Draws gradients, waves, edges and some noise, so that files are as large as for photos. The shape
// is [height][width][3].
std::vector<uint8_t> DrawPicture(uint32_t width, uint32_t height);

std::vector<uint8_t> EncodeJpeg(const std::vector<uint8_t>& rgb, uint32_t width, uint32_t height,
                                const JpegKind& kind);
std::vector<uint8_t> EncodePng(const std::vector<uint8_t>& rgb, uint32_t width, uint32_t height);

// Returns named images of several megapixels, and long ones.
const std::map<std::string, std::vector<uint8_t>>& LargeImages();

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_TESTING_LARGE_IMAGES_H_
