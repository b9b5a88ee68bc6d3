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

// The part of the picture's axis from `begin` to `end`, within whole samples.
ResizeAxis AxisOf(double begin, double end) {
  const double first = std::floor(begin);
  return {.in_first = static_cast<int64_t>(first),
          .in_size = static_cast<uint32_t>(std::ceil(end) - first),
          .begin = static_cast<float>(begin - first),
          .end = static_cast<float>(end - first)};
}

// The axes' samples are numbered as the picture's.
ResizeAxis Horizontal(const ResizeRequest& request) {
  ResizeAxis axis = AxisOf(request.box.left, request.box.right);
  axis.out_size = request.width;
  axis.out_first = request.window_left;
  axis.out_count = request.window_width;
  return axis;
}

ResizeAxis Vertical(const ResizeRequest& request) {
  ResizeAxis axis = AxisOf(request.box.top, request.box.bottom);
  axis.out_size = request.height;
  axis.out_first = request.window_top;
  axis.out_count = request.window_height;
  return axis;
}

}  // namespace

CropRect PartRead(const ResizeRequest& request) {
  const auto reads =
      request.interpolation == Interpolation::kNearest ? NearestReads : BilinearReads;
  const SampleRange columns = reads(Horizontal(request)), rows = reads(Vertical(request));
  return {columns.first, rows.first, columns.count, rows.count};
}

void Resampler::Resize(const PixelView& source, const ResizeRequest& request, uint8_t* out) {
  horizontal_ = Horizontal(request);
  horizontal_.in_first -= request.source_left;
  vertical_ = Vertical(request);
  vertical_.in_first -= request.source_top;
  if (request.interpolation == Interpolation::kNearest) {
    ResizeNearest(source, request.flip, out);
  } else {
    ResizeBilinear(source, request.flip, out);
  }
}

void Resampler::FilterRow(const PixelView& source, size_t row, uint8_t* out) const {
  if (source.channels == 1) {
    ResampleRow<1>(source.row(row), column_weights_, horizontal_.out_count, out);
  } else {
    ResampleRow<3>(source.row(row), column_weights_, horizontal_.out_count, out);
  }
}

// Each row of the source passes the horizontal filter at most once: the vertical one moves down
// only.
void Resampler::ResizeBilinear(const PixelView& source, bool flip, uint8_t* out) {
  const size_t channels = static_cast<size_t>(source.channels);
  column_weights_.Compute(horizontal_);
  row_weights_.Compute(vertical_);
  sums_.resize(horizontal_.out_count * channels);
  const size_t strip_rows = row_weights_.max_taps();
  uint8_t* strip = strip_.Reserve(strip_rows * sums_.size());
  size_t filtered = 0;  // Rows of the source before this one are in the strip, or are not needed.
  for (size_t y = 0; y < vertical_.out_count; ++y, out += sums_.size()) {
    std::fill(sums_.begin(), sums_.end(), kHalf);
    size_t row = row_weights_.first(y);
    for (const int32_t weight : row_weights_.weights(y)) {
      uint8_t* in_strip = strip + row % strip_rows * sums_.size();
      if (row >= filtered) {
        FilterRow(source, row, in_strip);
        filtered = row + 1;
      }
      AddRow(in_strip, weight, sums_);
      ++row;
    }
    flip ? WriteRowFlipped(sums_, channels, out) : WriteRow(sums_, out);
  }
  strip_.Trim();
}

void Resampler::ResizeNearest(const PixelView& source, bool flip, uint8_t* out) {
  const size_t channels = static_cast<size_t>(source.channels);
  NearestSamples(horizontal_, columns_);
  NearestSamples(vertical_, rows_);
  if (flip) std::reverse(columns_.begin(), columns_.end());
  for (const uint32_t row : rows_) {
    if (source.channels == 1) {
      CopyColumns<1>(source.row(row), columns_, out);
    } else {
      CopyColumns<3>(source.row(row), columns_, out);
    }
    out += columns_.size() * channels;
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
