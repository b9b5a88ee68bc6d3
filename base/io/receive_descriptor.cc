#include "base/io/receive_descriptor.h"

#include <sys/socket.h>

#include <cstring>
#include <utility>

namespace penstock {
namespace {

// The kernel aligns this room, so two descriptors fit. A second one is then seen and closed.
constexpr size_t kRoom = CMSG_SPACE(sizeof(int));

}  // namespace

ssize_t ReceiveWithDescriptor(int socket, std::span<char> bytes, int flags, UniqueFd& descriptor) {
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[kRoom];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  const cmsghdr* header = size < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
    return size;
  }
  const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
    UniqueFd received(number);
    if (count == 1) descriptor = std::move(received);
  }
  return size;
}

}  // namespace penstock
