#include "trainer/app/eval_spec.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace penstock {

std::string MatchingEvalSpec(absl::string_view spec) {
  absl::string_view arguments = spec;
  const bool random =
      absl::ConsumePrefix(&arguments, "images-train") && (arguments.empty() || arguments[0] == ':');
  return random ? absl::StrCat("images-eval", arguments) : std::string(spec);
}

}  // namespace penstock
