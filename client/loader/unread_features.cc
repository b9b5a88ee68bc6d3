#include "client/loader/unread_features.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "records/decode/program.h"

namespace penstock {
namespace {

bool Reads(const Program& program, const FeatureInfo& info) {
  const auto& uses = program.features();
  return std::any_of(uses.begin(), uses.end(), [&](const FeatureUse& use) {
    return use.name.empty() ||
           (StandsFor(use.name, info.name) && use.is_feature_list() == info.feature_list);
  });
}

}  // namespace

std::vector<std::string> UnreadBySpec(const v1::DecodeSpec& spec, const FeatureSummary& features) {
  std::vector<std::string> unread;
  const absl::StatusOr<Program> program = Program::Compile(spec, WireDtype::kF32);
  if (!program.ok()) return unread;
  for (const FeatureInfo& info : features.features) {
    if (Reads(*program, info)) continue;
    std::string name = absl::StrCat(info.feature_list ? "list " : "", info.name);
    // A feature of several types is in the list once for each type, one after the other.
    if (unread.empty() || unread.back() != name) unread.push_back(std::move(name));
  }
  return unread;
}

std::string UnreadNote(const v1::DecodeSpec& spec, const FeatureSummary& features) {
  constexpr size_t kMost = 16;
  const std::vector<std::string> unread = UnreadBySpec(spec, features);
  if (unread.empty()) return "";
  const std::span<const std::string> named =
      std::span(unread).first(std::min(unread.size(), kMost));
  std::string text = absl::StrCat("not read by the spec: ", absl::StrJoin(named, ", "));
  if (unread.size() > kMost) absl::StrAppend(&text, " and ", unread.size() - kMost, " more");
  return text;
}

}  // namespace penstock
