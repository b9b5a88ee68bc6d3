#include "server/unix_listener.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

absl::StatusOr<gid_t> GroupId(const std::string& name) {
  std::vector<char> text(size_t{64} << 10);
  group entry{};
  group* found = nullptr;
  int error = getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  if (error != 0) return ErrnoToStatus(error, absl::StrCat("looking up group ", name));
  if (found == nullptr) return absl::InvalidArgumentError(absl::StrCat("no group named ", name));
  return found->gr_gid;
}

// Removes the socket that a process left behind.
absl::Status MakeRoom(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, ": exists and is not a socket; remove it, or choose another path"));
  }
  UniqueFd probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return ErrnoToStatus(errno, "socket");
  int refused = connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (refused == 0 || errno != ECONNREFUSED) {
    return absl::UnavailableError(absl::StrCat(
        path, ": another process listens there; stop it, or give each server its own path"));
  }
  if (unlink(path.c_str()) != 0) return ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

// On Linux the mode of an unbound socket becomes the mode of its file, so nobody can connect in
// between.
absl::Status Bind(int fd, const std::string& path, const sockaddr_un& address) {
  if (fchmod(fd, 0600) != 0) return ErrnoToStatus(errno, "fchmod of a socket");
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ErrnoToStatus(errno, path);
  }
  return absl::OkStatus();
}

absl::Status Admit(const std::string& path, gid_t group) {
  if (chown(path.c_str(), static_cast<uid_t>(-1), group) != 0 || chmod(path.c_str(), 0660) != 0) {
    return ErrnoToStatus(errno, absl::StrCat(path, ": giving it to group ", group));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSocketPath(absl::string_view path) {
  constexpr size_t kMax = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path[0] != '/' || path.size() > kMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", path, "\": give an absolute path of at most ", kMax, " bytes, e.g. in /run"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> ListenOnUnixSocket(const std::string& path, const std::string& group) {
  PENSTOCK_RETURN_IF_ERROR(CheckSocketPath(path));
  gid_t group_id = 0;
  if (!group.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(group_id, GroupId(group));
  }
  const sockaddr_un address = AddressOf(path);
  PENSTOCK_RETURN_IF_ERROR(MakeRoom(path, address));
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoToStatus(errno, "socket");
  PENSTOCK_RETURN_IF_ERROR(Bind(fd.get(), path, address));
  absl::Status ready = group.empty() ? absl::OkStatus() : Admit(path, group_id);
  if (ready.ok() && listen(fd.get(), SOMAXCONN) != 0) ready = ErrnoToStatus(errno, path);
  if (!ready.ok()) {
    unlink(path.c_str());
    return ready;
  }
  return fd;
}

}  // namespace penstock
