// The names of options in messages.
#ifndef PENSTOCK_CLIENT_LOADER_OPTION_NAMES_H_
#define PENSTOCK_CLIENT_LOADER_OPTION_NAMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Messages name the options of Penstock's programs, such as --lanes. Returns the message for a
// program that fills in LoaderOptions itself: with the members, such as plan.lanes. Options of
// penstock-server and of other commands keep their names.
std::string NameMembers(absl::string_view message);

// Does the same to an error, and removes its payloads, which only Penstock's programs read.
absl::Status NameMembers(const absl::Status& status);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_OPTION_NAMES_H_
