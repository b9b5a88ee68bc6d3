#include "client/loader/ragged_tensor.h"

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Bytes of one item, and how many items one padded range has.
struct RangeSize {
  size_t item_bytes;
  size_t items;
};

// The axes of the lengths are the first axes of the values, after the row axis.
RangeSize SizeOf(const TensorView& values, const TensorView& lengths) {
  RangeSize size{DtypeSize(values.dtype), values.shape[lengths.shape.size()]};
  for (const uint32_t axis : values.shape.subspan(lengths.shape.size() + 1)) {
    size.item_bytes *= axis;
  }
  return size;
}

int64_t LengthAt(const TensorView& lengths, size_t i) {
  int64_t length;
  std::memcpy(&length, lengths.bytes.data() + i * sizeof(length), sizeof(length));
  return length;
}

// Appends all offsets but the first, which is 0.
absl::Status AddOffsets(const TensorView& values, const TensorView& lengths, size_t most,
                        std::vector<int64_t>& offsets) {
  const size_t ranges = lengths.bytes.size() / sizeof(int64_t);
  offsets.reserve(ranges + 1);
  for (size_t i = 0; i < ranges; ++i) {
    const int64_t length = LengthAt(lengths, i);
    if (length < 0 || static_cast<uint64_t>(length) > most) {
      return absl::InternalError(absl::StrCat("tensor '", lengths.name, "' gives length ", length,
                                              " for tensor '", values.name,
                                              "', which is padded to ", most));
    }
    offsets.push_back(offsets.back() + length);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RaggedTensor> CompactRows(const TensorView& values, const TensorView& lengths) {
  const auto item_shape = values.shape.subspan(lengths.shape.size() + 1);
  RaggedTensor ragged{values.dtype, {item_shape.begin(), item_shape.end()}, {}, {0}};
  const RangeSize range = SizeOf(values, lengths);
  if (absl::Status added = AddOffsets(values, lengths, range.items, ragged.offsets); !added.ok()) {
    return added;
  }
  ragged.values.reserve(static_cast<size_t>(ragged.offsets.back()) * range.item_bytes);
  const uint8_t* padded = values.bytes.data();
  for (size_t i = 0; i + 1 < ragged.offsets.size(); ++i) {
    const auto items = static_cast<size_t>(ragged.offsets[i + 1] - ragged.offsets[i]);
    ragged.values.insert(ragged.values.end(), padded, padded + items * range.item_bytes);
    padded += range.items * range.item_bytes;
  }
  return ragged;
}

}  // namespace penstock
