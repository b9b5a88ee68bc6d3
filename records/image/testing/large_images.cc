#include "records/image/testing/large_images.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdio>  // jpeglib.h needs it.
#include <cstdlib>

#include <jpeglib.h>

#include "base/counter_rng.h"

namespace penstock {

std::vector<uint8_t> DrawPicture(uint32_t width, uint32_t height) {
  std::vector<uint8_t> rgb(size_t{width} * height * 3);
  CounterRng rng(1);
  for (size_t i = 0; i < rgb.size(); ++i) {
    const double c = static_cast<double>(i % 3);
    const double x = static_cast<double>(i / 3 % width), y = static_cast<double>(i / 3 / width);
    const double gradient = 30 + 110 * x / width + 60 * y / height;
    const double waves = 30 * std::sin(x / (11 + 7 * c)) * std::cos(y / (17 + 3 * c));
    const double edge = static_cast<int>(x / 61 + y / 47) % 3 == 0 ? 40 : 0;
    const double noise = static_cast<double>(rng.Below(6));
    rgb[i] = static_cast<uint8_t>(std::clamp(gradient + waves + edge + noise, 0.0, 255.0));
  }
  return rgb;
}

namespace {

std::vector<uint8_t> AddBlack(const std::vector<uint8_t>& rgb) {
  std::vector<uint8_t> cmyk;
  cmyk.reserve(rgb.size() / 3 * 4);
  for (size_t i = 0; i < rgb.size(); i += 3) {
    cmyk.insert(cmyk.end(), {rgb[i], rgb[i + 1], rgb[i + 2]});
    cmyk.push_back(static_cast<uint8_t>(rgb[i] / 2 + rgb[i + 1] / 2));
  }
  return cmyk;
}

void SetColors(const JpegKind& kind, jpeg_compress_struct& compress) {
  compress.input_components = kind.components == 4 ? 4 : 3;
  compress.in_color_space = kind.components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&compress);
  if (kind.components == 1) jpeg_set_colorspace(&compress, JCS_GRAYSCALE);
  if (kind.components == 4) jpeg_set_colorspace(&compress, JCS_YCCK);
  for (int i = 0; i < compress.num_components; ++i) {
    const bool chroma = i == 1 || i == 2;
    compress.comp_info[i].h_samp_factor = chroma ? kind.chroma_horizontal : kind.horizontal;
    compress.comp_info[i].v_samp_factor = chroma ? kind.chroma_vertical : kind.vertical;
  }
}

}  // namespace

std::vector<uint8_t> EncodeJpeg(const std::vector<uint8_t>& rgb, uint32_t width, uint32_t height,
                                const JpegKind& kind) {
  jpeg_compress_struct compress;
  jpeg_error_mgr errors;
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  compress.err = jpeg_std_error(&errors);
  jpeg_create_compress(&compress);
  jpeg_mem_dest(&compress, &memory, &size);
  compress.image_width = width;
  compress.image_height = height;
  SetColors(kind, compress);
  jpeg_set_quality(&compress, kind.quality, TRUE);
  compress.restart_interval = kind.restart_interval;
  if (kind.progressive) jpeg_simple_progression(&compress);
  const std::vector<uint8_t> pixels = kind.components == 4 ? AddBlack(rgb) : rgb;
  const int samples = compress.input_components;
  jpeg_start_compress(&compress, TRUE);
  for (size_t y = 0; y < height; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(pixels.data()) + y * width * static_cast<size_t>(samples);
    jpeg_write_scanlines(&compress, &row, 1);
  }
  jpeg_finish_compress(&compress);
  jpeg_destroy_compress(&compress);
  std::vector<uint8_t> file(memory, memory + size);
  std::free(memory);
  return file;
}

std::vector<uint8_t> EncodePng(const std::vector<uint8_t>& rgb, uint32_t width, uint32_t height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<uint8_t> file(size);
  if (!png_image_write_to_memory(&image, file.data(), &size, 0, rgb.data(), 0, nullptr))
    std::abort();
  file.resize(size);
  return file;
}

const std::map<std::string, std::vector<uint8_t>>& LargeImages() {
  static const auto* const images = [] {
    auto* made = new std::map<std::string, std::vector<uint8_t>>();
    const std::vector<uint8_t> rgb = DrawPicture(1800, 1200);
    (*made)["baseline"] = EncodeJpeg(rgb, 1800, 1200, {});
    (*made)["444"] = EncodeJpeg(rgb, 1800, 1200, {.horizontal = 1, .vertical = 1});
    (*made)["progressive"] = EncodeJpeg(rgb, 1800, 1200, {.progressive = true});
    (*made)["progressive_444"] =
        EncodeJpeg(rgb, 1800, 1200, {.horizontal = 1, .vertical = 1, .progressive = true});
    (*made)["wide"] = EncodeJpeg(rgb, 54000, 40, {});
    (*made)["wide_411"] = EncodeJpeg(rgb, 54000, 40, {.horizontal = 4, .vertical = 1});
    (*made)["wide_440"] = EncodeJpeg(rgb, 54000, 40, {.horizontal = 1, .vertical = 4});
    (*made)["tall"] = EncodeJpeg(rgb, 40, 54000, {.progressive = true});
    (*made)["png"] = EncodePng(rgb, 1800, 1200);
    (*made)["png_wide"] = EncodePng(rgb, 54000, 40);
    return made;
  }();
  return *images;
}

}  // namespace penstock
