// Finds the servers named by a file, or by the files of a folder.
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

// Reports changes in a folder at once, through inotify(7) if it works. inotify sees what this
// machine does, but not what other machines do to a shared file system, and the number of its
// instances is limited. Not thread-safe.
class PathWatch {
 public:
  PathWatch();

  // Watches this folder and no other from now on. If the folder does not exist yet, call Watch()
  // again later.
  void Watch(const std::string& folder);
  // Returns whether the file `name` changed since the last call or, if `name` is empty, whether any
  // file changed.
  bool TakeChanges(const std::string& name);
  // A descriptor that is readable while there may be changes; -1 if inotify is not available.
  int descriptor() const { return inotify_.get(); }

 private:
  UniqueFd inotify_;
  int watched_ = -1;
};

// Reads each file with ParseAddressLines(). In a folder it skips hidden files and everything that
// is not a regular file.
//
// A file that cannot be read or is invalid keeps the servers that it named last. A file that
// vanished from the folder names none. While the path itself is missing, all known servers stay, so
// that a file system that is away does not cost a job its servers. Not thread-safe.
class PathLook final : public ServerLook {
 public:
  static constexpr size_t kMaxFiles = 65'536;       // Maximum number of files in a folder.
  static constexpr size_t kMaxFileBytes = 4 << 20;  // Enough for about 200,000 servers.

  explicit PathLook(std::string path);

  ServerSet Look(const std::stop_token& stop) override;
  int descriptor() const override { return watch_.descriptor(); }

 private:
  struct File {
    FileStamp stamp;                     // The file's stamp when it was last read.
    std::vector<std::string> addresses;  // The addresses in the file when it was last valid.
    absl::Status problem;
  };
  using Files = std::map<std::string, File>;  // Keyed by name. A single file has the name "".

  // Replaces files_, or returns why it could not.
  absl::Status LookAtPath();
  absl::Status LookAtFolder();
  // Adds the file called `name` to `files`, unless it is not a regular file. `path` is its full
  // path.
  absl::Status LookAtFile(const std::string& name, const std::string& path, Files& files) const;
  ServerSet Known(absl::Status problem) const;

  std::string path_;  // Without a slash at the end.
  PathWatch watch_;
  bool reread_ = true;  // Read the files even if their stamps are unchanged.
  Files files_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_PATH_LOOK_H_
