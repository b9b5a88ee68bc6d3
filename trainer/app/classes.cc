#include "trainer/app/classes.h"

#include <algorithm>
#include <cstdio>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/print_escaped.h"

namespace penstock {
namespace {

size_t TotalBytes(const std::vector<std::string>& names) {
  size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  return bytes;
}

void TellOfOtherNames(const std::vector<std::string>& then, const std::vector<std::string>& now) {
  const std::string difference = NameDifference(then, now);
  if (difference.empty()) return;
  PrintEscaped(stderr,
               "penstock-train: %s: if the labels have other meanings, start a new training\n",
               difference);
}

}  // namespace

std::vector<std::string> ClassNamesOf(const Manifest& manifest) {
  const std::span<const std::string> names = manifest.class_names();
  return {names.begin(), names.end()};
}

std::string ClassName(const std::vector<std::string>& names, size_t number) {
  return number < names.size() ? names[number] : absl::StrCat(number);
}

std::string NameDifference(const std::vector<std::string>& of_checkpoint,
                           const std::vector<std::string>& of_manifest) {
  const auto [then, now] = std::mismatch(of_checkpoint.begin(), of_checkpoint.end(),
                                         of_manifest.begin(), of_manifest.end());
  if (then == of_checkpoint.end() || now == of_manifest.end()) return "";
  return absl::StrCat("class ", then - of_checkpoint.begin(), " is \"", *then,
                      "\" in the checkpoint but \"", *now, "\" in the manifest");
}

absl::StatusOr<size_t> AutoClasses(size_t of_checkpoint, size_t named) {
  if (of_checkpoint > 0) return of_checkpoint;
  if (named > 0) return named;
  return absl::InvalidArgumentError(
      "--classes auto: the manifest has no class names; give --classes N");
}

void UpdateClassNames(const std::vector<std::string>& names, CheckpointInfo& info) {
  const size_t classes = info.model.classes;
  if (info.class_names.size() != classes) info.class_names.clear();
  if (classes == 0 || names.size() != classes || TotalBytes(names) > kMostNameBytes) return;
  if (!info.class_names.empty()) TellOfOtherNames(info.class_names, names);
  info.class_names = names;
}

}  // namespace penstock
