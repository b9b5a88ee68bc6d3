#include "base/flags/shell_files.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/flags/completion.h"
#include "base/flags/man_page.h"
#include "base/io/atomic_file.h"
#include "base/json_text.h"
#include "base/status.h"

namespace penstock {
namespace {

absl::Status WriteText(const std::string& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return ErrnoToStatus(error.value(), path);
  return WriteFileAtomically(path, BytesOf(text));
}

nlohmann::ordered_json ToJson(const OptionRow& row) {
  return {{"names", row.names},
          {"placeholder", row.placeholder},
          {"description", row.description},
          {"choices", row.choices},
          {"range", row.range},
          {"default", row.default_value},
          {"variable", row.variable},
          {"excludes", row.excludes},
          {"required", row.required},
          {"repeated", row.repeated}};
}

nlohmann::ordered_json ToJson(const CommandPage& page) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const OptionGroup& group : page.groups) {
    nlohmann::ordered_json options = nlohmann::ordered_json::array();
    for (const OptionRow& row : group.options) options.push_back(ToJson(row));
    groups.push_back({{"title", group.title}, {"options", options}});
  }
  return {{"name", page.name}, {"description", page.description}, {"usage", page.usage},
          {"groups", groups},  {"examples", page.examples},       {"notes", page.notes}};
}

}  // namespace

absl::Status WriteShellFiles(const std::vector<CommandPage>& pages, absl::string_view version,
                             const std::string& folder) {
  const std::string& program = pages.front().name;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const CommandPage& page : pages) {
    json.push_back(ToJson(page));
    PENSTOCK_RETURN_IF_ERROR(WriteText(absl::StrCat(folder, "/man/man1/", ManPageName(page), ".1"),
                                       ManPage(page, pages, version)));
  }
  PENSTOCK_RETURN_IF_ERROR(WriteText(absl::StrCat(folder, "/bash-completion/completions/", program),
                                     BashCompletion(pages)));
  PENSTOCK_RETURN_IF_ERROR(
      WriteText(absl::StrCat(folder, "/zsh/site-functions/_", program), ZshCompletion(pages)));
  return WriteText(absl::StrCat(folder, "/penstock/", program, ".json"), JsonText(json, 1) + "\n");
}

}  // namespace penstock
