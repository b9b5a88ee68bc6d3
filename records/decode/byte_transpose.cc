#include "records/decode/byte_transpose.h"

#include <algorithm>
#include <cstring>

namespace penstock {

ByteTranspose::ByteTranspose(std::span<const uint32_t> dims, std::span<const uint32_t> transpose) {
  std::vector<size_t> in_strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) in_strides[i - 1] = in_strides[i] * dims[i];
  size_t out_stride = 1;
  for (size_t i = transpose.size(); i-- > 0;) {
    const Axis axis{dims[transpose[i]], in_strides[transpose[i]], out_stride};
    out_stride *= axis.size;
    if (axis.size == 1) continue;
    // Axes that stay adjacent are merged.
    if (!axes_.empty() && axis.in_stride == axes_.back().in_stride * axes_.back().size) {
      axes_.back().size *= axis.size;
    } else {
      axes_.push_back(axis);
    }
  }
  if (axes_.empty()) axes_.emplace_back();
  const auto shorter = [](const Axis& a, const Axis& b) { return a.size < b.size; };
  std::iter_swap(std::max_element(axes_.begin(), axes_.end(), shorter), axes_.end() - 1);
}

void ByteTranspose::Move(std::span<const Axis> axes, const uint8_t* in, uint8_t* out) {
  const Axis axis = axes.front();
  if (axes.size() > 1) {
    for (size_t i = 0; i < axis.size; ++i) {
      Move(axes.subspan(1), in + i * axis.in_stride, out + i * axis.out_stride);
    }
  } else if (axis.in_stride == 1 && axis.out_stride == 1) {
    std::memcpy(out, in, axis.size);
  } else {
    for (size_t i = 0; i < axis.size; ++i) out[i * axis.out_stride] = in[i * axis.in_stride];
  }
}

}  // namespace penstock
