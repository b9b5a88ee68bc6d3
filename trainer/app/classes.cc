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
  const auto [before, after] = std::mismatch(then.begin(), then.end(), now.begin(), now.end());
  if (before == then.end()) return;
  PrintEscaped(stderr,
               "penstock-train: class %d was \"%s\" in the checkpoint, and is \"%s\" in the "
               "manifest: if labels mean something else now, begin a new training\n",
               before - then.begin(), *before, *after);
}

}  // namespace

std::vector<std::string> ClassNamesOf(const Manifest& manifest) {
  const std::span<const std::string> names = manifest.class_names();
  return {names.begin(), names.end()};
}

std::string ClassName(const std::vector<std::string>& names, size_t number) {
  return number < names.size() ? names[number] : absl::StrCat(number);
}

absl::StatusOr<size_t> AutoClasses(size_t of_checkpoint, size_t named) {
  if (of_checkpoint > 0) return of_checkpoint;
  if (named > 0) return named;
  return absl::InvalidArgumentError(
      "--classes auto: the manifest names no classes; give --classes N");
}

void UpdateClassNames(const std::vector<std::string>& names, CheckpointInfo& info) {
  const size_t classes = info.model.classes;
  if (info.class_names.size() != classes) info.class_names.clear();
  if (classes == 0 || names.size() != classes || TotalBytes(names) > kMostNameBytes) return;
  if (!info.class_names.empty()) TellOfOtherNames(info.class_names, names);
  info.class_names = names;
}

}  // namespace penstock
