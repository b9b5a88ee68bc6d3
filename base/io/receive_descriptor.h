// Receives bytes from a socket, and a descriptor that came with them.
#ifndef PENSTOCK_BASE_IO_RECEIVE_DESCRIPTOR_H_
#define PENSTOCK_BASE_IO_RECEIVE_DESCRIPTOR_H_

#include <sys/types.h>

#include <span>

#include "base/io/unique_fd.h"

namespace penstock {

// Calls recvmsg() on a unix socket, with `flags` and MSG_CMSG_CLOEXEC. Returns what recvmsg()
// returns, and sets errno as it does. If exactly one descriptor came with the bytes, it replaces
// `descriptor`. Otherwise `descriptor` is unchanged, and if several came, all of them are closed.
ssize_t ReceiveWithDescriptor(int socket, std::span<char> bytes, int flags, UniqueFd& descriptor);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_RECEIVE_DESCRIPTOR_H_
