// --json FILE: a program's result for other programs.
#ifndef PENSTOCK_BASE_FLAGS_JSON_FLAG_H_
#define PENSTOCK_BASE_FLAGS_JSON_FLAG_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The FILE that is standard output. The JSON then stands there in place of the text for people.
inline constexpr absl::string_view kStandardOutput = "-";

// Adds --json FILE. `what` says what is written, as in "A summary".
CLI::Option* AddJsonFlag(CLI::App& app, std::string& file, const std::string& what);

// Writes `json` and a line feed to `file`, whole or not at all; an empty name: nowhere.
// kAlreadyExists: the file is there and holds something else than JSON.
absl::Status WriteJson(const std::string& file, absl::string_view json);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FLAGS_JSON_FLAG_H_
