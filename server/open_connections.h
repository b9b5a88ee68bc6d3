// Which connections that gRPC was given are still open: it tells nobody when it closes one.
#ifndef PENSTOCK_SERVER_OPEN_CONNECTIONS_H_
#define PENSTOCK_SERVER_OPEN_CONNECTIONS_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace penstock {

// Not thread-safe.
class OpenConnections {
 public:
  // REQUIRES: a socket that this thread still owns.
  void Add(int socket) { entries_.push_back({socket, InodeOf(socket)}); }

  // Asks the kernel for each.
  size_t Count() {
    std::erase_if(entries_, [](const Entry& entry) { return InodeOf(entry.fd) != entry.inode; });
    return entries_.size();
  }

 private:
  // A number that was closed may be another file's by now, which has another inode.
  struct Entry {
    int fd;
    ino_t inode;
  };

  // 0: it is not open, or no socket.
  static ino_t InodeOf(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
  }

  std::vector<Entry> entries_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_OPEN_CONNECTIONS_H_
