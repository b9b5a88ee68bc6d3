#include "records/dataset/class_names.h"

#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/io/text_file.h"
#include "base/status.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

absl::Status NoClassName(size_t label, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("the name of class ", label, " ", why));
}

std::string NameOf(const std::vector<std::string>& names, size_t label) {
  return label < names.size() ? absl::StrCat("'", names[label], "'") : "none";
}

// Returns the error for two lists that differ. REQUIRES: they differ.
absl::Status Differ(const std::string& file, const std::vector<std::string>& names,
                    const std::string& other, const std::vector<std::string>& other_names) {
  size_t label = 0;
  while (label < names.size() && label < other_names.size() && names[label] == other_names[label]) {
    ++label;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(file, " and ", other, " differ: class ", label, " is ", NameOf(names, label),
                   " in the first and ", NameOf(other_names, label),
                   " in the second: index the folders apart, or pack them with equal classes"));
}

// If a name appears twice, the file is probably another list and not the classes of a dataset.
absl::Status CheckDistinct(const std::vector<std::string>& names) {
  if (names.empty()) return absl::InvalidArgumentError("has no class names");
  std::map<absl::string_view, size_t> labels;
  for (size_t label = 0; label < names.size(); ++label) {
    const auto [known, is_new] = labels.emplace(names[label], label);
    if (is_new || names[label].empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat("classes ", known->second, " and ", label,
                                                   " have the same name, '", names[label], "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckClassNames(std::span<const std::string> names) {
  if (names.size() > kMaxClassNames) {
    return absl::InvalidArgumentError(
        absl::StrCat(names.size(), " class names are more than ", kMaxClassNames));
  }
  size_t bytes = names.size();
  for (size_t label = 0; label < names.size(); ++label) {
    const std::string& name = names[label];
    bytes += name.size();
    if (name.size() > kMaxClassNameBytes) {
      return NoClassName(label, absl::StrCat("has ", name.size(), " bytes, at most ",
                                             kMaxClassNameBytes, " are allowed"));
    }
    if (name.find_first_of("\n\r") != std::string::npos) {
      return NoClassName(label, absl::StrCat("has a line break: '", name, "'"));
    }
  }
  if (bytes <= kMaxClassNamesBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the class names have ", bytes, " bytes, at most ", kMaxClassNamesBytes));
}

std::string ClassNamesText(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) absl::StrAppend(&text, name, "\n");
  return text;
}

absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path) {
  // Each line may also have a carriage return.
  PENSTOCK_ASSIGN_OR_RETURN(
      const std::string text,
      ReadTextFile(path, kMaxClassNamesBytes + kMaxClassNames, "a list of class names may have"));
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    names.emplace_back(absl::StripSuffix(line, "\r"));
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  absl::Status status = CheckClassNames(names);
  if (status.ok()) status = CheckDistinct(names);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", status.message(), "; rename the file if it is no list of class names"));
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> ClassNamesBeside(std::span<const std::string> files) {
  std::set<std::string> folders;
  for (const std::string& file : files) folders.insert(FolderOfFile(file));
  std::string first;
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    const std::string path = absl::StrCat(folder, folder == "/" ? "" : "/", kClassNamesFile);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<std::string> more, ReadClassNames(path));
    if (first.empty()) {
      names = std::move(more);
      first = path;
    } else if (names != more) {
      return Differ(first, names, path, more);
    }
  }
  return names;
}

}  // namespace penstock
