#include "records/image/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace penstock {
namespace {

using resample_internal::kRowsAtOnce;

template <size_t kChannels>
void CopyColumns(const uint8_t* in, const std::vector<uint32_t>& columns, uint8_t* out) {
  for (const uint32_t column : columns) {
    std::memcpy(out, in + column * kChannels, kChannels);
    out += kChannels;
  }
}

// Returns the axis that resizes the range from `begin` to `end` of the picture, extended to whole
// samples, to `out_size` samples. Only the samples in the window are wanted.
ResizeAxis AxisOf(double begin, double end, uint32_t out_size, uint32_t window_first,
                  uint32_t window_count) {
  const double first = std::floor(begin);
  return {.in_first = static_cast<int64_t>(first),
          .in_size = static_cast<uint32_t>(std::ceil(end) - first),
          .begin = static_cast<float>(begin - first),
          .end = static_cast<float>(end - first),
          .out_size = out_size,
          .out_first = window_first,
          .out_count = window_count};
}

}  // namespace

ResizeAxis HorizontalAxis(const ResizeRequest& request) {
  return AxisOf(request.box.left, request.box.right, request.width, request.window_left,
                request.window_width);
}

ResizeAxis VerticalAxis(const ResizeRequest& request) {
  return AxisOf(request.box.top, request.box.bottom, request.height, request.window_top,
                request.window_height);
}

Resampler::Resampler(SimdLevel level) : horizontal_pass_(level), vertical_pass_(level) {}

CropRect PartRead(const ResizeRequest& request) {
  const auto reads =
      request.interpolation == Interpolation::kNearest ? NearestReads : BilinearReads;
  const SampleRange columns = reads(HorizontalAxis(request)), rows = reads(VerticalAxis(request));
  return {columns.first, rows.first, columns.count, rows.count};
}

void Resampler::Resize(const PicturePart& source, const ResizeRequest& request, uint8_t* out) {
  horizontal_ = HorizontalAxis(request);
  horizontal_.in_first -= source.left;
  vertical_ = VerticalAxis(request);
  vertical_.in_first -= source.top;
  if (request.interpolation == Interpolation::kNearest) {
    ResizeNearest(source.pixels, request.flip, out);
  } else {
    ResizeBilinear(source.pixels, request.flip, out);
  }
}

void Resampler::ResizeBilinear(const PixelView& source, bool flip, uint8_t* out) {
  horizontal_pass_.Prepare(source, horizontal_, flip);
  vertical_pass_.Prepare(vertical_);
  const size_t row_bytes = size_t{horizontal_.out_count} * static_cast<size_t>(source.channels);
  ring_.Start(vertical_pass_.max_rows() + kRowsAtOnce - 1, row_bytes);
  size_t filtered = 0;  // Rows of the source before this are in the ring, or are not needed.
  for (size_t y = 0; y < vertical_.out_count; ++y, out += row_bytes) {
    const SampleRange rows = vertical_pass_.rows(y);
    filtered = std::max<size_t>(filtered, rows.first);
    for (; filtered < rows.end(); filtered += kRowsAtOnce) FilterRows(source, filtered);
    vertical_pass_.Blend(y, ring_, row_bytes, out);
  }
  ring_.Trim();
}

// Filters the rows from `first` on. Rows beyond the end of the source are copies of its last row.
void Resampler::FilterRows(const PixelView& source, size_t first) {
  resample_internal::RowsAtOnce rows;
  for (size_t i = 0; i < kRowsAtOnce; ++i) {
    rows.in[i] = source.row(std::min<size_t>(first + i, source.height - 1));
    rows.out[i] = ring_.row(first + i);
  }
  horizontal_pass_.Filter(rows);
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
  const uint64_t program_taps = std::min<uint64_t>(column_taps, LaneProgram::kMostTaps);
  const uint64_t samples = static_cast<uint64_t>(channels);
  return AxisWeightsMemory(out_width, column_taps) + AxisWeightsMemory(out_height, row_taps) +
         LaneProgramMemory(out_width, samples, program_taps) +
         RowRing::Memory(row_taps + kRowsAtOnce - 1, out_width * samples) +
         row_taps * sizeof(resample_internal::RowPair);
}

}  // namespace penstock
