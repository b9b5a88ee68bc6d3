#include "client/servers/path_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>

namespace penstock {
namespace {

constexpr uint32_t kChanges = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE |
                              IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

}  // namespace

PathWatch::PathWatch() : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void PathWatch::Watch(const std::string& folder) {
  if (!inotify_.valid()) return;
  // The same number as before if the folder is the same.
  const int watch = inotify_add_watch(inotify_.get(), folder.c_str(), kChanges);
  if (watched_ >= 0 && watch != watched_) inotify_rm_watch(inotify_.get(), watched_);
  watched_ = watch;
}

bool PathWatch::TakeChanges(const std::string& name) {
  bool changed = false;
  alignas(inotify_event) char events[4096];
  for (ssize_t size; (size = read(inotify_.get(), events, sizeof events)) > 0;) {
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, events + at, sizeof event);
      const char* named = events + at + sizeof event;
      changed |= name.empty() || event.len == 0 || name == named;
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  return changed;
}

}  // namespace penstock
