// Tells at once that something in a folder changed.
#ifndef PENSTOCK_CLIENT_SERVERS_PATH_WATCH_H_
#define PENSTOCK_CLIENT_SERVERS_PATH_WATCH_H_

#include <string>

#include "records/io/unique_fd.h"

namespace penstock {

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

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_PATH_WATCH_H_
