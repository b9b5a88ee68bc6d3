#include "trainer/backend/device/device_layout.h"

#include <algorithm>

#include "kernels/reference/adamw.h"

namespace penstock {
namespace {

static_assert(kArenaAlignment == reference::kDecayRun);

size_t ColumnsOf(const Parameter& parameter) {
  return parameter.shape.size() < 2 ? parameter.count : parameter.shape.back();
}

// Copies the rows of `narrow`, with the row length of `narrow`.
void CopyRows(const Parameter& narrow, const float* from, size_t from_columns, float* to,
              size_t to_columns) {
  const size_t columns = ColumnsOf(narrow), rows = narrow.count / columns;
  for (size_t r = 0; r < rows; ++r) {
    std::copy_n(from + r * from_columns, columns, to + r * to_columns);
  }
}

}  // namespace

std::vector<float> DeviceLayout::Pad(std::span<const float> arena) const {
  std::vector<float> padded(padded_.arena_size());
  for (size_t i = 0; i < model_.parameters().size(); ++i) {
    const Parameter &narrow = model_.parameters()[i], &wide = padded_.parameters()[i];
    CopyRows(narrow, arena.data() + narrow.offset, ColumnsOf(narrow), padded.data() + wide.offset,
             ColumnsOf(wide));
  }
  return padded;
}

std::vector<float> DeviceLayout::Unpad(std::span<const float> arena) const {
  std::vector<float> values(model_.arena_size());
  for (size_t i = 0; i < model_.parameters().size(); ++i) {
    const Parameter &narrow = model_.parameters()[i], &wide = padded_.parameters()[i];
    CopyRows(narrow, arena.data() + wide.offset, ColumnsOf(wide), values.data() + narrow.offset,
             ColumnsOf(narrow));
  }
  return values;
}

std::vector<uint8_t> DeviceLayout::Decays() const {
  std::vector<uint8_t> decays(padded_.arena_size() / reference::kDecayRun);
  for (const Parameter& parameter : padded_.parameters()) {
    if (!parameter.decays()) continue;
    const size_t runs = (parameter.count + reference::kDecayRun - 1) / reference::kDecayRun;
    std::fill_n(decays.begin() + std::ptrdiff_t(parameter.offset / reference::kDecayRun), runs, 1);
  }
  return decays;
}

std::vector<Bf16> ToBf16(std::span<const float> values) {
  std::vector<Bf16> rounded(values.size());
  std::transform(values.begin(), values.end(), rounded.begin(), FromFloat<Bf16>);
  return rounded;
}

}  // namespace penstock
