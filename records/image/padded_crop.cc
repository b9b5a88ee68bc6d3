#include "records/image/padded_crop.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "records/image/axis_weights.h"

namespace penstock {
namespace {

// Returns the sample at `position` of an axis of `size` samples, or nullopt for padding with zeros.
std::optional<size_t> SampleAt(int64_t position, int64_t size, Padding padding) {
  if (position >= 0 && position < size) return static_cast<size_t>(position);
  if (padding == Padding::kZero) return std::nullopt;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t phase = (position % period + period) % period;
  return static_cast<size_t>(std::min(phase, period - phase));
}

// Returns the samples of an axis of `size` samples that the positions from `begin` on use. If they
// use none, returns the first sample.
SampleRange SamplesAt(int64_t begin, uint32_t count, uint32_t size, Padding padding) {
  size_t first = size, end = 0;
  for (int64_t position = begin; position < begin + count; ++position) {
    const std::optional<size_t> sample = SampleAt(position, size, padding);
    if (!sample.has_value()) continue;
    first = std::min(first, *sample);
    end = std::max(end, *sample + 1);
  }
  if (end == 0) return {0, 1};
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(end - first)};
}

template <size_t kChannels>
void CopyPixels(const PicturePart& source, const PaddedCrop& crop, uint8_t* out) {
  const CropRect& rect = crop.rect;
  for (int64_t y = 0; y < rect.height; ++y) {
    const std::optional<size_t> row = SampleAt(rect.top + y, crop.picture.height, crop.padding);
    for (int64_t i = 0; i < rect.width; ++i, out += kChannels) {
      const int64_t x = crop.flip ? rect.width - 1 - i : i;
      const std::optional<size_t> column =
          SampleAt(rect.left + x, crop.picture.width, crop.padding);
      if (row.has_value() && column.has_value()) {
        const uint8_t* pixels = source.pixels.row(*row - source.top);
        std::memcpy(out, pixels + (*column - source.left) * kChannels, kChannels);
      } else {
        std::memset(out, 0, kChannels);
      }
    }
  }
}

}  // namespace

CropRect PartRead(const PaddedCrop& crop) {
  const CropRect& rect = crop.rect;
  const SampleRange columns = SamplesAt(rect.left, rect.width, crop.picture.width, crop.padding);
  const SampleRange rows = SamplesAt(rect.top, rect.height, crop.picture.height, crop.padding);
  return {columns.first, rows.first, columns.count, rows.count};
}

void CopyPadded(const PicturePart& source, const PaddedCrop& crop, uint8_t* out) {
  if (source.pixels.channels == 1) {
    CopyPixels<1>(source, crop, out);
  } else {
    CopyPixels<3>(source, crop, out);
  }
}

}  // namespace penstock
