// A Unix socket that listens.
#ifndef PENSTOCK_SERVER_UNIX_LISTENER_H_
#define PENSTOCK_SERVER_UNIX_LISTENER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"

namespace penstock {

// kInvalidArgument: `path` is not absolute, or longer than a socket's address may be.
absl::Status CheckSocketPath(absl::string_view path);

// Returns a non-blocking SOCK_SEQPACKET listener at `path`. Only this user may connect to it, or
// also the group named `group`. Replaces a socket on which nobody listens any more.
//
// kUnavailable: another process listens there. kAlreadyExists: something other than a socket is
// there. kInvalidArgument: `path` is invalid, or there is no such group. kPermissionDenied,
// kNotFound: the folder cannot be used.
absl::StatusOr<UniqueFd> ListenOnUnixSocket(const std::string& path, const std::string& group);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_UNIX_LISTENER_H_
