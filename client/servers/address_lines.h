// The text of an address file.
#ifndef PENSTOCK_CLIENT_SERVERS_ADDRESS_LINES_H_
#define PENSTOCK_CLIENT_SERVERS_ADDRESS_LINES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// One HOST:PORT a line; '#' begins a comment, empty lines are skipped. kInvalidArgument, naming
// the line: anything else; no address at all; a last line without its newline, for it may be half
// an address that is still being written.
absl::StatusOr<std::vector<std::string>> ParseAddressLines(absl::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_ADDRESS_LINES_H_
