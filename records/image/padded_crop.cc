#include "records/image/padded_crop.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace penstock {
namespace {

// The sample of an axis of `size` that stands at `position`; none where it is zero.
std::optional<size_t> SampleAt(int64_t position, int64_t size, Padding padding) {
  if (position >= 0 && position < size) return static_cast<size_t>(position);
  if (padding == Padding::kZero) return std::nullopt;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t phase = (position % period + period) % period;
  return static_cast<size_t>(std::min(phase, period - phase));
}

template <size_t kChannels>
void CopyPixels(const PixelView& source, const CropRect& rect, Padding padding, bool flip,
                uint8_t* out) {
  for (int64_t y = 0; y < rect.height; ++y) {
    const std::optional<size_t> row = SampleAt(rect.top + y, source.height, padding);
    for (int64_t i = 0; i < rect.width; ++i, out += kChannels) {
      const int64_t x = flip ? rect.width - 1 - i : i;
      const std::optional<size_t> column = SampleAt(rect.left + x, source.width, padding);
      if (row.has_value() && column.has_value()) {
        std::memcpy(out, source.row(*row) + *column * kChannels, kChannels);
      } else {
        std::memset(out, 0, kChannels);
      }
    }
  }
}

}  // namespace

void CopyPadded(const PixelView& source, const CropRect& rect, Padding padding, bool flip,
                uint8_t* out) {
  if (source.channels == 1) {
    CopyPixels<1>(source, rect, padding, flip, out);
  } else {
    CopyPixels<3>(source, rect, padding, flip, out);
  }
}

}  // namespace penstock
