#include "client/loader/decode_spec.h"

#include <utility>

#include "base/status.h"
#include "google/protobuf/text_format.h"
#include "proto/decode_spec.pb.h"
#include "records/decode/spec.h"

namespace penstock {

DecodeSpec::DecodeSpec(v1::DecodeSpec message)
    : message_(std::make_shared<const v1::DecodeSpec>(std::move(message))) {}

absl::StatusOr<DecodeSpec> DecodeSpec::Load(absl::string_view name_or_file) {
  return LoadSpec(name_or_file);
}

absl::StatusOr<DecodeSpec> DecodeSpec::Parse(absl::string_view text, absl::string_view source) {
  return ParseSpec(text, source);
}

bool DecodeSpec::empty() const { return message().tensor().empty(); }

std::string DecodeSpec::ToString() const {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message(), &text);
  return text;
}

const v1::DecodeSpec& DecodeSpec::message() const {
  return message_ == nullptr ? v1::DecodeSpec::default_instance() : *message_;
}

}  // namespace penstock
