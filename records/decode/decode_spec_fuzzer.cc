// Compiles a spec, given as text or as bytes, and decodes one row at every SIMD level. Features of
// any length get values that are random but valid, as a record packer would pass on.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/decode/testing/variable_row.h"
#include "records/image/image_transform.h"

namespace penstock {
namespace {

struct Decoded {
  std::vector<std::vector<uint8_t>> outputs;
  DecodeOutcome outcome;
};

Decoded DecodeOne(const Program& program, const std::vector<FeatureRow>& row, SimdLevel level) {
  Decoded decoded;
  std::vector<uint8_t*> pointers;
  std::vector<const uint8_t*> features;
  std::vector<FeatureColumn> columns;
  for (const TensorInfo& tensor : program.tensors()) {
    decoded.outputs.emplace_back(tensor.row_bytes);
  }
  for (std::vector<uint8_t>& output : decoded.outputs) pointers.push_back(output.data());
  for (const FeatureRow& feature : row) features.push_back(feature.data());
  for (const uint8_t*& feature : features) columns.push_back(&feature);
  ImageTransform transform;
  const int64_t ordinals[] = {7};
  decoded.outcome = program.DecodeRows(columns, 1, pointers,
                                       {.level = level, .images = {&transform, 1, ordinals}});
  return decoded;
}

// A count that the use allows, at most about 1000.
size_t AnyCount(const VariableUse& use, std::mt19937_64& random) {
  constexpr uint32_t kMost = 1000;
  const size_t most = std::max(use.min_count, std::min(use.max_count, kMost));
  const size_t count = use.min_count + random() % (most - use.min_count + 1);
  return count / use.multiple * use.multiple;
}

std::vector<uint8_t> AnyBytes(size_t size, std::mt19937_64& random) {
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

FeatureRow AnyVariableRow(const FeatureUse& feature, std::mt19937_64& random) {
  const VariableUse& use = *feature.variable;
  if (use.optional && random() % 4 == 0) return AbsentRow();
  const size_t count = AnyCount(use, random);
  if (feature.type == FeatureType::kFloat) {
    return VariableRow(true, count, AnyBytes(count * sizeof(float), random));
  }
  if (feature.type == FeatureType::kInt64) {
    std::vector<int64_t> values(count);
    for (int64_t& value : values) value = static_cast<int64_t>(random()) >> random() % 64;
    return IntegersRow(values);
  }
  if (!use.list) return VariableRow(true, 1, AnyBytes(count, random));
  std::vector<std::string> values(count);
  for (std::string& value : values) {
    const std::vector<uint8_t> bytes =
        AnyBytes(random() % (std::min<size_t>(use.max_bytes, 300) + 1), random);
    value.assign(bytes.begin(), bytes.end());
  }
  return ListRow(values);
}

bool SameOutcome(const DecodeOutcome& a, const DecodeOutcome& b) {
  if (a.failure.has_value() != b.failure.has_value()) return false;
  return !a.failure || (a.failure->row == b.failure->row && a.failure->status == b.failure->status);
}

void CompileAndDecode(const v1::DecodeSpec& spec, WireDtype dtype, uint64_t seed) {
  const absl::StatusOr<Program> program = Program::Compile(spec, dtype);
  if (!program.ok()) return;
  std::mt19937_64 random(seed);
  std::vector<FeatureRow> row;
  for (const FeatureUse& feature : program->features()) {
    row.push_back(feature.variable ? AnyVariableRow(feature, random)
                                   : FeatureRow(feature.row_bytes(), 0xa5));
  }
  const Decoded want = DecodeOne(*program, row, SimdLevel::kScalar);
  for (const SimdLevel level : AvailableSimdLevels()) {
    const Decoded got = DecodeOne(*program, row, level);
    if (!SameOutcome(got.outcome, want.outcome)) std::abort();
    if (!want.outcome.failure && got.outputs != want.outputs) std::abort();
  }
}

}  // namespace
}  // namespace penstock

// The first byte selects the wire dtype, whether the rest is text, and the values.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto dtype = static_cast<penstock::WireDtype>(1 + data[0] % 5);
  const char* rest = reinterpret_cast<const char*>(data + 1);
  penstock::v1::DecodeSpec spec;
  if (data[0] & 0x80) {
    auto parsed = penstock::ParseSpec(absl::string_view(rest, size - 1), "fuzz");
    if (parsed.ok()) penstock::CompileAndDecode(*parsed, dtype, data[0]);
  } else if (spec.ParseFromArray(rest, static_cast<int>(size - 1))) {
    penstock::CompileAndDecode(spec, dtype, data[0]);
  }
  return 0;
}
