#include "cli/data/spec_check.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/status.h"
#include "cli/data/record_decoder.h"
#include "client/loader/dataset_spec.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/format/feature_finder.h"

namespace penstock {
namespace {

v1::DecodeSpec WithoutImages(const v1::DecodeSpec& spec) {
  v1::DecodeSpec rest = spec;
  rest.clear_tensor();
  for (const v1::TensorSpec& tensor : spec.tensor()) {
    if (!tensor.has_image()) *rest.add_tensor() = tensor;
  }
  return rest;
}

struct SpecPrograms {
  // Records must have the features of this program; absent if `values` reads all of them.
  std::optional<Program> all;
  // The tensors of this program must decode; absent if none are decoded.
  std::optional<Program> values;
};

absl::StatusOr<SpecPrograms> CompilePrograms(const v1::DecodeSpec& spec, bool decode) {
  const v1::DecodeSpec values = decode ? WithoutImages(spec) : v1::DecodeSpec();
  SpecPrograms programs;
  if (values.tensor_size() < spec.tensor_size()) {
    PENSTOCK_ASSIGN_OR_RETURN(programs.all, Program::Compile(spec, WireDtype::kF32));
  }
  if (!values.tensor().empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(programs.values, Program::Compile(values, WireDtype::kF32));
  }
  return programs;
}

class SpecCheck {
 public:
  static absl::StatusOr<SpecCheck> Create(const SpecPrograms& programs) {
    SpecCheck check;
    if (programs.all.has_value()) {
      const auto& features = programs.all->features();
      PENSTOCK_ASSIGN_OR_RETURN(check.finder_,
                                FeatureFinder::Create({features.begin(), features.end()}));
      check.found_ = check.finder_->MakeFound();
    }
    if (programs.values.has_value()) {
      PENSTOCK_ASSIGN_OR_RETURN(check.decoder_, RecordDecoder::Create(*programs.values));
    }
    return check;
  }

  absl::Status operator()(std::span<const uint8_t> payload) {
    if (finder_.has_value()) PENSTOCK_RETURN_IF_ERROR(finder_->Find(payload, found_));
    return decoder_.has_value() ? decoder_->DecodeOne(payload, 0) : absl::OkStatus();
  }

 private:
  std::optional<FeatureFinder> finder_;
  FoundFeatures found_;
  std::optional<RecordDecoder> decoder_;
};

absl::StatusOr<PayloadCheck> MakeCheck(const SpecPrograms& programs) {
  PENSTOCK_ASSIGN_OR_RETURN(SpecCheck check, SpecCheck::Create(programs));
  // Copies of the function share the check.
  const auto shared = std::make_shared<SpecCheck>(std::move(check));
  return [shared](std::span<const uint8_t> payload) {
    return Annotate((*shared)(payload), kManifestSpec);
  };
}

}  // namespace

PayloadCheckMaker SpecCheckMaker(const std::string& spec, bool decode) {
  const absl::StatusOr<v1::DecodeSpec> parsed = ParseSpec(spec, kManifestSpec);
  if (!parsed.ok()) return nullptr;
  // Copies of the function share the programs.
  const auto programs =
      std::make_shared<const absl::StatusOr<SpecPrograms>>(CompilePrograms(*parsed, decode));
  return [programs]() -> absl::StatusOr<PayloadCheck> {
    PENSTOCK_RETURN_IF_ERROR(programs->status());
    return MakeCheck(**programs);
  };
}

}  // namespace penstock
