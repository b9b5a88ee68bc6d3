#include "records/image/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace penstock {
namespace {

constexpr int32_t kHalf = 1 << (AxisWeights::kFractionBits - 1);

uint8_t Round(int32_t sum) {
  return static_cast<uint8_t>(std::min(sum >> AxisWeights::kFractionBits, 255));
}

template <size_t kChannels>
void ResampleRow(const uint8_t* in, const AxisWeights& columns, size_t width, uint8_t* out) {
  for (size_t x = 0; x < width; ++x, out += kChannels) {
    const uint8_t* pixel = in + columns.first(x) * kChannels;
    int32_t sums[kChannels];
    std::fill_n(sums, kChannels, kHalf);
    for (const int32_t weight : columns.weights(x)) {
      for (size_t c = 0; c < kChannels; ++c) sums[c] += pixel[c] * weight;
      pixel += kChannels;
    }
    for (size_t c = 0; c < kChannels; ++c) out[c] = Round(sums[c]);
  }
}

void AddRow(const uint8_t* row, int32_t weight, std::vector<int32_t>& sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += row[i] * weight;
}

void WriteRow(const std::vector<int32_t>& sums, uint8_t* out) {
  for (size_t i = 0; i < sums.size(); ++i) out[i] = Round(sums[i]);
}

void WriteRowFlipped(const std::vector<int32_t>& sums, size_t channels, uint8_t* out) {
  for (size_t end = sums.size(); end > 0; end -= channels) {
    for (size_t c = 0; c < channels; ++c) *out++ = Round(sums[end - channels + c]);
  }
}

template <size_t kChannels>
void CopyColumns(const uint8_t* in, const std::vector<uint32_t>& columns, uint8_t* out) {
  for (const uint32_t column : columns) {
    std::memcpy(out, in + column * kChannels, kChannels);
    out += kChannels;
  }
}

// The part of an axis from `begin` to `end`, within whole samples from `first` on.
ResizeAxis AxisOf(double begin, double end, double first, uint32_t size) {
  return {.in_size = static_cast<uint32_t>(std::ceil(end) - first),
          .begin = static_cast<float>(begin - first),
          .end = static_cast<float>(end - first),
          .out_size = size};
}

}  // namespace

void Resampler::Resize(const PixelView& source, const ResizeRequest& request, uint8_t* out) {
  const double left = std::floor(request.box.left), top = std::floor(request.box.top);
  horizontal_ = AxisOf(request.box.left, request.box.right, left, request.width);
  horizontal_.out_first = request.window_left;
  horizontal_.out_count = request.window_width;
  vertical_ = AxisOf(request.box.top, request.box.bottom, top, request.height);
  vertical_.out_first = request.window_top;
  vertical_.out_count = request.window_height;
  const size_t channels = static_cast<size_t>(source.channels);
  const Crop crop{source.row(static_cast<size_t>(top)) + static_cast<size_t>(left) * channels,
                  source.row_bytes(), channels};
  if (request.interpolation == Interpolation::kNearest) {
    ResizeNearest(crop, request.flip, out);
  } else {
    ResizeBilinear(crop, request.flip, out);
  }
}

void Resampler::FilterRow(const Crop& crop, size_t row, uint8_t* out) const {
  if (crop.channels == 1) {
    ResampleRow<1>(crop.row(row), column_weights_, horizontal_.out_count, out);
  } else {
    ResampleRow<3>(crop.row(row), column_weights_, horizontal_.out_count, out);
  }
}

// Each row of the crop passes the horizontal filter at most once: the vertical one moves down only.
void Resampler::ResizeBilinear(const Crop& crop, bool flip, uint8_t* out) {
  column_weights_.Compute(horizontal_);
  row_weights_.Compute(vertical_);
  sums_.resize(horizontal_.out_count * crop.channels);
  const size_t strip_rows = row_weights_.max_taps();
  uint8_t* strip = strip_.Reserve(strip_rows * sums_.size());
  size_t filtered = 0;  // Rows of the crop before this one are in the strip, or are not needed.
  for (size_t y = 0; y < vertical_.out_count; ++y, out += sums_.size()) {
    std::fill(sums_.begin(), sums_.end(), kHalf);
    size_t row = row_weights_.first(y);
    for (const int32_t weight : row_weights_.weights(y)) {
      uint8_t* in_strip = strip + row % strip_rows * sums_.size();
      if (row >= filtered) {
        FilterRow(crop, row, in_strip);
        filtered = row + 1;
      }
      AddRow(in_strip, weight, sums_);
      ++row;
    }
    flip ? WriteRowFlipped(sums_, crop.channels, out) : WriteRow(sums_, out);
  }
  strip_.Trim();
}

void Resampler::ResizeNearest(const Crop& crop, bool flip, uint8_t* out) {
  NearestSamples(horizontal_, columns_);
  NearestSamples(vertical_, rows_);
  if (flip) std::reverse(columns_.begin(), columns_.end());
  for (const uint32_t row : rows_) {
    if (crop.channels == 1) {
      CopyColumns<1>(crop.row(row), columns_, out);
    } else {
      CopyColumns<3>(crop.row(row), columns_, out);
    }
    out += columns_.size() * crop.channels;
  }
}

uint64_t ResizeMemory(uint64_t in_width, uint64_t in_height, uint64_t out_width,
                      uint64_t out_height, int channels) {
  const uint64_t column_taps =
      MaxTaps(static_cast<double>(in_width), static_cast<double>(out_width));
  const uint64_t row_taps =
      MaxTaps(static_cast<double>(in_height), static_cast<double>(out_height));
  const uint64_t row_samples = out_width * static_cast<uint64_t>(channels);
  const uint64_t weights = out_width * (column_taps + 2) + out_height * (row_taps + 2);
  return weights * sizeof(int32_t) + (column_taps + row_taps) * sizeof(double) +
         row_samples * (row_taps + sizeof(int32_t));
}

}  // namespace penstock
