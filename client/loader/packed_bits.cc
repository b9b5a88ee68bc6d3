#include "client/loader/packed_bits.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/simd_level.h"
#include "base/status.h"
#include "proto/decode_spec.pb.h"
#include "records/decode/bit_table.h"
#include "records/decode/bits.h"
#include "records/decode/program.h"
#include "records/decode/spec_tables.h"
#include "records/decode/stored_axes.h"

namespace penstock {
namespace {

// Number of rows that are expanded in one call.
constexpr size_t kRowsAtATime = 64;

absl::StatusOr<const v1::TensorSpec*> FindTensor(const v1::DecodeSpec& spec,
                                                 absl::string_view name) {
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (tensor.name() != name) continue;
    if (tensor.has_bits()) return &tensor;
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", name, "' of the decode spec has no operation `bits`"));
  }
  return absl::NotFoundError(absl::StrCat("the decode spec has no tensor '", name, "'"));
}

// The shape of the only tensor of `spec`, which is checked.
absl::StatusOr<std::vector<uint32_t>> CheckedShape(const v1::TensorSpec& tensor) {
  v1::DecodeSpec alone;
  *alone.add_tensor() = tensor;
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(alone, WireDtype::kI8));
  const auto& shape = program.tensors().front().shape;
  return std::vector<uint32_t>(shape.begin(), shape.end());
}

std::vector<PackedBit> ToPackedBits(std::span<const BitSource> sources) {
  std::vector<PackedBit> elements;
  elements.reserve(sources.size());
  for (const BitSource& source : sources) {
    elements.push_back({.bit = source.bit, .value = source.negative ? -1 : 1});
  }
  return elements;
}

}  // namespace

absl::StatusOr<PackedBits> PackedBits::Create(const DecodeSpec& spec, absl::string_view name) {
  PENSTOCK_ASSIGN_OR_RETURN(const v1::TensorSpec* tensor, FindTensor(spec.message(), name));
  PackedBits packed;
  PENSTOCK_ASSIGN_OR_RETURN(packed.shape_, CheckedShape(*tensor));
  const v1::Bits& bits = tensor->bits();
  packed.feature_ = bits.feature();
  packed.packed_bytes_ = bits.feature_bytes();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint32_t> transpose, TransposeOf(StoredAxes(bits)));
  size_t size = 1;
  for (uint32_t dim : packed.shape_) size *= dim;
  const std::vector<BitSource> sources = BitSourcesOf(bits, size, transpose);
  packed.elements_ = std::make_shared<const std::vector<PackedBit>>(ToPackedBits(sources));
  packed.table_ = std::make_shared<const BitTable>(BuildBitTable(sources, bits.feature_bytes()));
  return packed;
}

absl::Status PackedBits::ExpandTo(const TensorView& packed, Dtype dtype, uint8_t* out,
                                  size_t size) const {
  if (packed.dtype != Dtype::kU8 || packed.row_bytes != packed_bytes_) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", packed.name, "' has rows of ", packed.row_bytes, " bytes (",
                     DtypeName(packed.dtype), "), not of the ", packed_bytes_,
                     " packed bytes of feature '", feature_, "'; read it with WireDtype::kPacked"));
  }
  const size_t rows = packed.bytes.size() / packed_bytes_;
  if (size != rows * table_->size) {
    return absl::InvalidArgumentError(absl::StrCat(rows, " rows expand to ", rows * table_->size,
                                                   " elements, and there is room for ", size));
  }
  std::array<const uint8_t*, kRowsAtATime> sources;
  for (size_t row = 0; row < rows; row += kRowsAtATime) {
    const size_t n = std::min(kRowsAtATime, rows - row);
    for (size_t i = 0; i < n; ++i) sources[i] = &packed.bytes[(row + i) * packed_bytes_];
    ExpandBits(*table_, dtype, BestSimdLevel(), Stores::kCached, sources.data(), n,
               out + row * table_->size * DtypeSize(dtype));
  }
  return absl::OkStatus();
}

}  // namespace penstock
