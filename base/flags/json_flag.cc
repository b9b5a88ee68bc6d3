#include "base/flags/json_flag.h"

#include <fstream>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/flags/path_flags.h"
#include "base/io/atomic_file.h"
#include "base/print_escaped.h"
#include "base/status.h"

namespace penstock {
namespace {

// A user who forgets the file after --json names a dataset there. It must not be replaced.
absl::Status CheckReplaceable(const std::string& file) {
  std::ifstream there(file);
  char first = 0;
  if (!there.get(first) || first == '{' || first == '[') return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      "--json: ", file, " exists and is not JSON, so it is not replaced; choose another name"));
}

}  // namespace

CLI::Option* AddJsonFlag(CLI::App& app, std::string& file, const std::string& what) {
  return app
      .add_option("--json", file, what + " as JSON; - is standard output, instead of the text")
      ->type_name("FILE")
      ->group("Output")
      ->default_str("");
}

absl::Status CheckJsonFlag(const std::string& file) {
  if (file.empty() || file == kStandardOutput) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(CheckWritable("--json", file));
  return CheckReplaceable(file);
}

absl::Status WriteJson(const std::string& file, absl::string_view json) {
  if (file.empty()) return absl::OkStatus();
  if (file == kStandardOutput) {
    PrintEscaped(stdout, "%s\n", Multiline(json));
    return absl::OkStatus();
  }
  PENSTOCK_RETURN_IF_ERROR(CheckReplaceable(file));
  return Annotate(WriteFileAtomically(file, BytesOf(absl::StrCat(json, "\n"))), "--json");
}

}  // namespace penstock
