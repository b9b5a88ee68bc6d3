#include "records/image/pixel_sums.h"

#include <algorithm>
#include <span>

namespace penstock {
namespace {

// One vector of bytes for each channel. Compilers add up that many at once.
constexpr size_t kLanes = 16 * kPixelChannels;
// This many squares of a lane can be added in 32 bits.
constexpr size_t kMostRounds = 65536;
static_assert(kMostRounds * 255 * 255 < uint64_t{1} << 32);

struct ByteSums {
  std::array<uint64_t, kPixelChannels> bytes = {};
  std::array<uint64_t, kPixelChannels> squares = {};

  // Adds `rounds` times kLanes bytes. REQUIRES: rounds <= kMostRounds.
  void AddRounds(const uint8_t* data, size_t rounds) {
    uint32_t sum[kLanes] = {}, square[kLanes] = {};
    for (size_t round = 0; round < rounds; ++round, data += kLanes) {
      for (size_t i = 0; i < kLanes; ++i) {
        const uint32_t byte = data[i];
        sum[i] += byte;
        square[i] += byte * byte;
      }
    }
    for (size_t i = 0; i < kLanes; ++i) {
      bytes[i % kPixelChannels] += sum[i];
      squares[i % kPixelChannels] += square[i];
    }
  }

  // Adds `data`, which begins with the first channel of a pixel.
  void Add(std::span<const uint8_t> data) {
    while (data.size() >= kLanes) {
      const size_t rounds = std::min(data.size() / kLanes, kMostRounds);
      AddRounds(data.data(), rounds);
      data = data.subspan(rounds * kLanes);
    }
    for (size_t i = 0; i < data.size(); ++i) {
      const uint64_t byte = data[i];
      bytes[i % kPixelChannels] += byte;
      squares[i % kPixelChannels] += byte * byte;
    }
  }
};

// Returns `sum` times `units` divided by `count`, rounded to nearest.
uint64_t Mean(uint64_t sum, uint64_t units, uint64_t count) {
  return (sum * units + count / 2) / count;
}

}  // namespace

void PixelSums::Add(const PixelView& image) {
  const uint64_t pixels = uint64_t{image.width} * image.height;
  if (pixels == 0) return;
  ByteSums sums;
  sums.Add({image.data, image.bytes()});
  ++images;
  for (size_t c = 0; c < kPixelChannels; ++c) {
    mean[c] += Mean(sums.bytes[c], kMeanUnits, pixels);
    square[c] += Mean(sums.squares[c], kSquareUnits, pixels);
  }
}

void PixelSums::Add(const PixelSums& other) {
  images += other.images;
  for (size_t c = 0; c < kPixelChannels; ++c) {
    mean[c] += other.mean[c];
    square[c] += other.square[c];
  }
}

}  // namespace penstock
