// Program::Compile(): checks a spec, message by message, and plans how to decode it.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/sha256.h"
#include "base/status.h"
#include "records/decode/compile_checks.h"
#include "records/decode/compile_operations.h"
#include "records/decode/plan_builder.h"
#include "records/decode/program.h"
#include "records/decode/program_plan.h"
#include "records/image/library_version.h"

namespace penstock {
namespace {

// Whether older servers support only a part of the tensor's operation, or gave it another meaning.
bool HasSecondVersion(const v1::TensorSpec& tensor) {
  switch (tensor.op_case()) {
    case v1::TensorSpec::kNumber:  // Version 1 rounded integers to the wire dtype.
      return tensor.number().type() == v1::Number::INT64;
    case v1::TensorSpec::kBits:
      return tensor.bits().order() != v1::Bits::MSB_FIRST;
    case v1::TensorSpec::kBytes:
      return TakesPart(tensor.bytes());
    case v1::TensorSpec::kLabel:
      return tensor.label().feature_bytes() != 0;
    default:
      return false;
  }
}

// The name and the version of the tensor's operation. The version is raised if the same field
// values and bytes would give other bits, and for fields that earlier versions do not know.
std::pair<std::string, uint64_t> OperationVersion(const v1::TensorSpec& tensor) {
  const auto* field = v1::TensorSpec::descriptor()->FindFieldByNumber(tensor.op_case());
  // Pixels depend on the libraries that are linked.
  if (tensor.has_image()) return {field->name(), ImageLibraryVersion()};
  return {field->name(), HasSecondVersion(tensor) ? 2 : 1};
}

// Versions of 1 are left out, so that specs with no others keep their old fingerprints.
uint64_t Fingerprint(const v1::DecodeSpec& spec, std::span<const FeatureUse> features) {
  std::map<std::string, uint64_t> versions;
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    const auto [operation, version] = OperationVersion(tensor);
    if (version > 1) versions[operation] = version;
  }
  std::string text =
      absl::StrCat("penstock decode ", kDecoderVersion, "\n", spec.SerializeAsString());
  for (const auto& [operation, version] : versions) {
    absl::StrAppend(&text, "\n", operation, " ", version);
  }
  // Servers without support for alternatives would take the name for that of one feature.
  const bool alternatives =
      std::any_of(features.begin(), features.end(),
                  [](const FeatureUse& use) { return !AlternativesOf(use.name).empty(); });
  if (alternatives) absl::StrAppend(&text, "\nalternatives 1");
  Sha256 sha256;
  sha256.Update(BytesOf(text));
  const Sha256::Digest digest = sha256.Finish();
  uint64_t fingerprint = 0;
  for (size_t i = 0; i < 8; ++i) fingerprint |= uint64_t{digest[i]} << (8 * i);
  return fingerprint;
}

absl::Status AddTensor(const v1::TensorSpec& tensor, PlanBuilder& plan) {
  PENSTOCK_RETURN_IF_ERROR(plan.TakeName(tensor.name()));
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(tensor));
  switch (tensor.op_case()) {
    case v1::TensorSpec::kBits:
      return AddBits(tensor.name(), tensor.bits(), plan);
    case v1::TensorSpec::kMateScore:
      return AddMateScore(tensor.name(), tensor.mate_score(), plan);
    case v1::TensorSpec::kNumber:
      return AddNumber(tensor.name(), tensor.number(), plan);
    case v1::TensorSpec::kBytes:
      return AddBytes(tensor.name(), tensor.bytes(), plan);
    case v1::TensorSpec::kLabel:
      return AddLabel(tensor.name(), tensor.label(), plan);
    case v1::TensorSpec::kImage:
      return AddImage(tensor.name(), tensor.image(), plan);
    case v1::TensorSpec::OP_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "has no operation: give one of bits, mate_score, number, bytes, label, image");
}

absl::Status CheckSpec(const v1::DecodeSpec& spec) {
  PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(spec));
  if (spec.records() != v1::DecodeSpec::EXAMPLE && spec.records() != v1::DecodeSpec::RAW) {
    return absl::InvalidArgumentError(
        absl::StrCat("records ", static_cast<int>(spec.records()), " is neither EXAMPLE nor RAW"));
  }
  if (spec.tensor().empty()) return absl::InvalidArgumentError("has no tensor");
  if (static_cast<size_t>(spec.tensor_size()) <= kMaxTensors) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("has ", spec.tensor_size(), " tensors; the limit is ", kMaxTensors));
}

}  // namespace

absl::StatusOr<Program> Program::Compile(const v1::DecodeSpec& spec, WireDtype wire_dtype) {
  SpecTables tables;
  return Compile(spec, wire_dtype, tables);
}

absl::StatusOr<Program> Program::Compile(const v1::DecodeSpec& spec, WireDtype wire_dtype,
                                         SpecTables& tables) {
  PENSTOCK_RETURN_IF_ERROR(Annotate(CheckSpec(spec), "decode spec"));
  auto plan = std::make_shared<Plan>();
  PlanBuilder builder(spec.records(), wire_dtype, tables, *plan);
  for (int i = 0; i < spec.tensor_size(); ++i) {
    const std::string where =
        absl::StrCat("decode spec: tensor ", i, " '", spec.tensor(i).name(), "'");
    PENSTOCK_RETURN_IF_ERROR(Annotate(AddTensor(spec.tensor(i), builder), where));
  }
  PENSTOCK_RETURN_IF_ERROR(Annotate(builder.Finish(), "decode spec"));
  plan->fingerprint = Fingerprint(spec, plan->features);
  return Program(std::move(plan));
}

}  // namespace penstock
