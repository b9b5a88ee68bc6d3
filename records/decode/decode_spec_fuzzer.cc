// A spec as text and as bytes -> Compile() -> one row, at every SIMD level.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "records/decode/program.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

using Outputs = std::vector<std::vector<uint8_t>>;

Outputs DecodeOne(const Program& program, std::vector<const uint8_t*>& row, SimdLevel level) {
  Outputs outputs;
  std::vector<uint8_t*> pointers;
  std::vector<FeatureColumn> columns;
  for (const TensorInfo& tensor : program.tensors()) outputs.emplace_back(tensor.row_bytes);
  for (std::vector<uint8_t>& output : outputs) pointers.push_back(output.data());
  for (const uint8_t*& feature : row) columns.push_back(&feature);
  program.DecodeRows(columns, 1, pointers, {.level = level});
  return outputs;
}

void CompileAndDecode(const v1::DecodeSpec& spec, WireDtype dtype) {
  const absl::StatusOr<Program> program = Program::Compile(spec, dtype);
  if (!program.ok()) return;
  std::vector<std::unique_ptr<uint8_t[]>> features;
  std::vector<const uint8_t*> row;
  for (const FeatureUse& feature : program->features()) {
    features.push_back(std::make_unique<uint8_t[]>(feature.row_bytes()));
    std::memset(features.back().get(), 0xa5, feature.row_bytes());
    row.push_back(features.back().get());
  }
  const Outputs want = DecodeOne(*program, row, SimdLevel::kScalar);
  for (const SimdLevel level : AvailableSimdLevels()) {
    if (DecodeOne(*program, row, level) != want) std::abort();
  }
}

}  // namespace
}  // namespace penstock

// The first byte chooses the wire dtype and whether the rest is text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto dtype = static_cast<penstock::WireDtype>(1 + data[0] % 5);
  const char* rest = reinterpret_cast<const char*>(data + 1);
  penstock::v1::DecodeSpec spec;
  if (data[0] & 0x80) {
    auto parsed = penstock::ParseSpec(absl::string_view(rest, size - 1), "fuzz");
    if (parsed.ok()) penstock::CompileAndDecode(*parsed, dtype);
  } else if (spec.ParseFromArray(rest, static_cast<int>(size - 1))) {
    penstock::CompileAndDecode(spec, dtype);
  }
  return 0;
}
