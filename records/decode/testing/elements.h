// The elements of tensors, in tests.
#ifndef PENSTOCK_RECORDS_DECODE_TESTING_ELEMENTS_H_
#define PENSTOCK_RECORDS_DECODE_TESTING_ELEMENTS_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/dtype.h"

namespace penstock {

// The wire dtypes with which the tensors are those of the spec.
inline constexpr WireDtype kExpanded[] = {WireDtype::kI8, WireDtype::kBf16, WireDtype::kF32,
                                          WireDtype::kF64};

// The elements of a tensor.
template <typename T>
std::vector<T> As(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_TESTING_ELEMENTS_H_
