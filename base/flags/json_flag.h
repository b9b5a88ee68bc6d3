// --json FILE: writes a program's result for other programs.
#ifndef PENSTOCK_BASE_FLAGS_JSON_FLAG_H_
#define PENSTOCK_BASE_FLAGS_JSON_FLAG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock {

// The FILE that stands for standard output. The JSON then replaces the text for people.
inline constexpr absl::string_view kStandardOutput = "-";

// Adds --json FILE in the group "Output". `what` begins its description: "Write the result".
CLI::Option* AddJsonFlag(CLI::App& app, std::string& file, const std::string& what);

// Tries to write `file`, without changing it, before the work whose result WriteJson() will write.
// Errors are those of WriteJson().
absl::Status CheckJsonFlag(const std::string& file);

// Writes `json` and a line feed to `file`, completely or not at all. An empty `file` writes
// nothing. kAlreadyExists: the file exists and holds something other than JSON. Errors name --json.
absl::Status WriteJson(const std::string& file, absl::string_view json);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_JSON_FLAG_H_
