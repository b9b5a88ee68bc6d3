// Bytes of a socket, and the descriptor that came with them.
#ifndef PENSTOCK_BASE_IO_RECEIVE_DESCRIPTOR_H_
#define PENSTOCK_BASE_IO_RECEIVE_DESCRIPTOR_H_

#include <sys/types.h>

#include <span>

#include "base/io/unique_fd.h"

namespace penstock {

// recvmsg() of a unix socket, with MSG_CMSG_CLOEXEC beside `flags`: returns what that returns, and
// sets errno as it does. If exactly one descriptor came with the bytes, it is `descriptor` now;
// else `descriptor` stays, and several that came are closed.
ssize_t ReceiveWithDescriptor(int socket, std::span<char> bytes, int flags, UniqueFd& descriptor);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_RECEIVE_DESCRIPTOR_H_
