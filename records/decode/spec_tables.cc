#include "records/decode/spec_tables.h"

namespace penstock {

std::vector<BitSource> BitSourcesOf(const v1::Bits& bits, size_t size,
                                    std::span<const uint32_t> transpose) {
  const size_t axes = transpose.size();
  std::vector<uint32_t> stride(axes, 1);  // Number of bits between neighbours on each stored axis.
  for (size_t i = axes - 1; i > 0; --i) {
    stride[i - 1] = stride[i] * bits.dims(static_cast<int>(i));
  }
  std::vector<bool> negative(bits.dims(static_cast<int>(bits.sign_axis())));
  for (const uint32_t index : bits.negative()) negative[index] = true;

  // Tables count from the most significant bit of each byte. LSB_FIRST counts in the opposite
  // direction.
  const uint32_t flip = bits.order() == v1::Bits::LSB_FIRST ? 7 : 0;

  std::vector<BitSource> elements(size);
  std::vector<uint32_t> index(axes);  // Position of the element on each stored axis.
  for (BitSource& element : elements) {
    element.bit = bits.first_bit();
    for (size_t i = 0; i < axes; ++i) element.bit += index[i] * stride[i];
    element.bit ^= flip;
    element.negative = negative[index[bits.sign_axis()]];
    for (size_t i = axes; i-- > 0;) {
      const uint32_t axis = transpose[i];
      if (++index[axis] < bits.dims(static_cast<int>(axis))) break;
      index[axis] = 0;
    }
  }
  return elements;
}

std::shared_ptr<const BitTable> SpecTables::Get(size_t place, const v1::Bits& bits, size_t size,
                                                std::span<const uint32_t> transpose) {
  if (place == tables_.size()) {
    tables_.push_back(std::make_shared<const BitTable>(
        BuildBitTable(BitSourcesOf(bits, size, transpose), bits.feature_bytes(),
                      kMaxByteTables - num_byte_tables_)));
    num_byte_tables_ += tables_.back()->byte_tables.size();
  }
  return tables_[place];
}

size_t SpecTables::bytes() const {
  size_t bytes = 0;
  for (const auto& table : tables_) bytes += table->bytes();
  return bytes;
}

}  // namespace penstock
