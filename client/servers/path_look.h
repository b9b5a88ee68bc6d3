// The servers that a file, or the files of a folder, name.
#ifndef PENSTOCK_CLIENT_SERVERS_PATH_LOOK_H_
#define PENSTOCK_CLIENT_SERVERS_PATH_LOOK_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/io/file_stamp.h"
#include "base/io/unique_fd.h"
#include "client/servers/server_look.h"

namespace penstock {

// Tells at once that something in a folder changed.
// inotify(7), where it works: it sees what this machine does, not what others do to a shared file
// system, and its instances are limited. Not thread-safe.
class PathWatch {
 public:
  PathWatch();

  // Watches this folder from now on, and no other; it may not be there yet: then call again.
  void Watch(const std::string& folder);
  // Whether there were changes since the last call: of the file `name`, or of any if it is empty.
  bool TakeChanges(const std::string& name);
  // Readable while there may be changes; -1: inotify is not to be had.
  int descriptor() const { return inotify_.get(); }

 private:
  UniqueFd inotify_;
  int watched_ = -1;
};

// Each file is read as ParseAddressLines() says; in a folder all but hidden files and what is no
// file. A file that cannot be read or is invalid keeps the servers that it named last; one that
// vanished from the folder names none. While the path itself is away, all that was known stays: a
// file system that is away must not cost the servers. Not thread-safe.
class PathLook final : public ServerLook {
 public:
  static constexpr size_t kMaxFiles = 65'536;       // Of a folder.
  static constexpr size_t kMaxFileBytes = 4 << 20;  // About 200,000 servers.

  explicit PathLook(std::string path);

  ServerSet Look(const std::stop_token& stop) override;
  int descriptor() const override { return watch_.descriptor(); }

 private:
  struct File {
    FileStamp stamp;                     // When it was read last.
    std::vector<std::string> addresses;  // As they could be read last.
    absl::Status problem;
  };
  using Files = std::map<std::string, File>;  // By name; a single file is called "".

  // Replaces files_, or says why not.
  absl::Status LookAtPath();
  absl::Status LookAtFolder();
  // Adds the file called `name` to `files`, unless it is none. `path` is where it is.
  absl::Status LookAtFile(const std::string& name, const std::string& path, Files& files) const;
  ServerSet Known(absl::Status problem) const;

  std::string path_;  // Without a slash at its end.
  PathWatch watch_;
  bool reread_ = true;  // Whatever the stamps say.
  Files files_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_PATH_LOOK_H_
