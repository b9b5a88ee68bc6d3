#include "trainer/model/model_config.h"

#include "absl/strings/str_cat.h"

namespace penstock {

absl::StatusOr<ModelConfig> ModelConfig::Named(absl::string_view name) {
  if (name == "tiny") return ModelConfig{"tiny", 4, 64, 4, 128};
  if (name == "default") return ModelConfig{"default", 8, 256, 8, 512};
  if (name == "large") return ModelConfig{"large", 12, 512, 16, 2048};
  return absl::InvalidArgumentError(
      absl::StrCat("no model is called \"", name, "\"; there are tiny, default and large"));
}

absl::Status ModelConfig::Validate() const {
  if (layers == 0 || dim == 0 || heads == 0 || hidden == 0 || dim % heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model ", name, ": ", layers, " layers, dim ", dim, ", ", heads, " heads, hidden ", hidden,
        ": none may be zero, and the heads must divide dim"));
  }
  return absl::OkStatus();
}

}  // namespace penstock
