#include "cli/data/decoded_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes_of.h"
#include "base/status.h"
#include "cli/data/record_decoder.h"
#include "cli/data/tensor_text.h"

namespace penstock {
namespace {

constexpr size_t kValuesAsText = 12;
constexpr size_t kValuesAsJson = 256;

std::span<const uint8_t> RowOf(const DecodedRows& decoded, size_t tensor, size_t row) {
  const size_t bytes = decoded.tensors[tensor].row_bytes;
  return std::span(decoded.blocks[tensor]).subspan(row * bytes, bytes);
}

}  // namespace

absl::StatusOr<DecodedRows> DecodeFirst(const v1::DecodeSpec& spec,
                                        std::span<const std::string> payloads,
                                        uint64_t augmentation_key) {
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(spec, WireDtype::kF32));
  PENSTOCK_ASSIGN_OR_RETURN(RecordDecoder decoder,
                            RecordDecoder::Create(program, augmentation_key));
  for (const std::string& payload : payloads) {
    PENSTOCK_RETURN_IF_ERROR(
        Annotate(decoder.Add(BytesOf(payload)), absl::StrCat("row ", decoder.pending())));
  }
  PENSTOCK_RETURN_IF_ERROR(decoder.Decode());
  return DecodedRows{payloads.size(),
                     {program.tensors().begin(), program.tensors().end()},
                     {decoder.blocks().begin(), decoder.blocks().end()}};
}

std::string ToText(const DecodedRows& decoded) {
  size_t names = 0, types = 0;
  for (const TensorInfo& tensor : decoded.tensors) {
    names = std::max(names, tensor.name.size());
    types = std::max(types, TypeOf(tensor).size());
  }
  std::string text;
  for (size_t row = 0; row < decoded.rows; ++row) {
    for (size_t t = 0; t < decoded.tensors.size(); ++t) {
      const TensorInfo& tensor = decoded.tensors[t];
      absl::StrAppendFormat(&text, "%-10s%-*s  %-*s  %s\n", t == 0 ? absl::StrCat("row ", row) : "",
                            static_cast<int>(names), tensor.name, static_cast<int>(types),
                            TypeOf(tensor),
                            ValuesText(tensor, RowOf(decoded, t, row), kValuesAsText));
    }
  }
  return text;
}

nlohmann::json ToJson(const DecodedRows& decoded) {
  nlohmann::json out = nlohmann::json::array();
  for (size_t t = 0; t < decoded.tensors.size(); ++t) {
    const TensorInfo& tensor = decoded.tensors[t];
    nlohmann::json rows = nlohmann::json::array();
    for (size_t row = 0; row < decoded.rows; ++row) {
      rows.push_back(FirstValues(tensor, RowOf(decoded, t, row), kValuesAsJson));
    }
    out.push_back({{"name", tensor.name},
                   {"dtype", std::string(DtypeName(tensor.dtype))},
                   {"shape", tensor.shape},
                   {"first_values", rows}});
  }
  return out;
}

}  // namespace penstock
