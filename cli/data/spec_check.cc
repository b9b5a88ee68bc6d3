#include "cli/data/spec_check.h"

#include <memory>
#include <utility>

#include "base/status.h"
#include "cli/data/record_decoder.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/format/feature_finder.h"

namespace penstock {
namespace {

class SpecCheck {
 public:
  static absl::StatusOr<SpecCheck> Create(const v1::DecodeSpec& spec, bool decode) {
    PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(spec, WireDtype::kF32));
    PENSTOCK_ASSIGN_OR_RETURN(
        FeatureFinder finder,
        FeatureFinder::Create({program.features().begin(), program.features().end()}));
    SpecCheck check(std::move(finder));
    const v1::DecodeSpec rest = WithoutImages(spec);
    if (decode && !rest.tensor().empty()) {
      PENSTOCK_ASSIGN_OR_RETURN(const Program values, Program::Compile(rest, WireDtype::kF32));
      PENSTOCK_ASSIGN_OR_RETURN(check.decoder_, RecordDecoder::Create(values));
    }
    return check;
  }

  absl::Status operator()(std::span<const uint8_t> payload) {
    PENSTOCK_RETURN_IF_ERROR(finder_.Find(payload, found_));
    return decoder_ ? decoder_->DecodeOne(payload, 0) : absl::OkStatus();
  }

 private:
  explicit SpecCheck(FeatureFinder finder)
      : finder_(std::move(finder)), found_(finder_.MakeFound()) {}

  static v1::DecodeSpec WithoutImages(const v1::DecodeSpec& spec) {
    v1::DecodeSpec rest = spec;
    rest.clear_tensor();
    for (const v1::TensorSpec& tensor : spec.tensor()) {
      if (!tensor.has_image()) *rest.add_tensor() = tensor;
    }
    return rest;
  }

  FeatureFinder finder_;
  FoundFeatures found_;
  std::optional<RecordDecoder> decoder_;
};

}  // namespace

absl::StatusOr<PayloadCheck> MakeSpecCheck(const std::string& spec, bool decode) {
  const absl::StatusOr<v1::DecodeSpec> parsed = ParseSpec(spec, "the stored spec");
  if (!parsed.ok()) return PayloadCheck();
  PENSTOCK_ASSIGN_OR_RETURN(SpecCheck check, SpecCheck::Create(*parsed, decode));
  // A function can be copied.
  const auto shared = std::make_shared<SpecCheck>(std::move(check));
  return [shared](std::span<const uint8_t> payload) {
    return Annotate((*shared)(payload), "the stored spec");
  };
}

}  // namespace penstock
