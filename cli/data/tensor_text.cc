#include "cli/data/tensor_text.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/bfloat16.h"

namespace penstock {
namespace {

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

nlohmann::json ValueAt(Dtype dtype, const uint8_t* bytes) {
  if (dtype == Dtype::kU8) return *bytes;
  if (dtype == Dtype::kI8) return static_cast<int8_t>(*bytes);
  if (dtype == Dtype::kBf16) return FromBf16(Load<uint16_t>(bytes));
  if (dtype == Dtype::kF32) return Load<float>(bytes);
  if (dtype == Dtype::kF64) return Load<double>(bytes);
  if (dtype == Dtype::kI64) return Load<int64_t>(bytes);
  return Load<int32_t>(bytes);
}

std::string ValueText(const nlohmann::json& value) {
  return value.is_number_float() ? absl::StrFormat("%.6g", value.get<double>()) : value.dump();
}

}  // namespace

std::string TypeOf(const TensorInfo& tensor) {
  const absl::string_view dtype = DtypeName(tensor.dtype);
  if (tensor.shape.empty()) return std::string(dtype);
  return absl::StrCat(dtype, " [", absl::StrJoin(tensor.shape, ", "), "]");
}

nlohmann::json FirstValues(const TensorInfo& tensor, std::span<const uint8_t> row, size_t most) {
  const size_t size = DtypeSize(tensor.dtype);
  nlohmann::json values = nlohmann::json::array();
  for (size_t i = 0; i < std::min(row.size() / size, most); ++i) {
    values.push_back(ValueAt(tensor.dtype, row.data() + i * size));
  }
  return values;
}

std::string ValuesText(const TensorInfo& tensor, std::span<const uint8_t> row, size_t most) {
  std::string text;
  for (const nlohmann::json& value : FirstValues(tensor, row, most)) {
    absl::StrAppend(&text, text.empty() ? "" : " ", ValueText(value));
  }
  if (row.size() / DtypeSize(tensor.dtype) > most) text += " ...";
  return text;
}

}  // namespace penstock
