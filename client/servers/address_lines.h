// Parses the text of an address file.
#ifndef PENSTOCK_CLIENT_SERVERS_ADDRESS_LINES_H_
#define PENSTOCK_CLIENT_SERVERS_ADDRESS_LINES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Parses one HOST:PORT in each line. '#' begins a comment; empty lines are skipped.
// kInvalidArgument: a line is something else (the message names it); there is no address; or the
// last line has no newline, so it may be half of an address that is still being written.
absl::StatusOr<std::vector<std::string>> ParseAddressLines(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_ADDRESS_LINES_H_
