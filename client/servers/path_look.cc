#include "client/servers/path_look.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "base/status.h"
#include "client/servers/address_lines.h"

namespace penstock {
namespace {

constexpr uint32_t kChanges = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE |
                              IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

}  // namespace

PathWatch::PathWatch() : inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void PathWatch::Watch(const std::string& folder) {
  if (!inotify_.valid()) return;
  // inotify returns the same number as before if the folder is the same.
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

namespace {

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};

absl::StatusOr<std::string> ReadText(int fd, size_t max_bytes) {
  std::string text;
  char buffer[16 << 10];
  while (true) {
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return ErrnoToStatus(errno, "read");
    if (size == 0) return text;
    text.append(buffer, static_cast<size_t>(size));
    if (text.size() > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the file has more than ", max_bytes,
                       " bytes, so it is not an address file; give a file with one HOST:PORT a "
                       "line"));
    }
  }
}

}  // namespace

PathLook::PathLook(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
}

ServerSet PathLook::Look(const std::stop_token&) {
  const std::filesystem::path path(path_);
  struct stat info;
  const bool is_folder = stat(path_.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  // Watch before reading, so that no change is missed in between.
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  watch_.Watch(is_folder ? path_ : parent);
  reread_ |= watch_.TakeChanges(is_folder ? "" : path.filename().string());
  absl::Status status = LookAtPath();
  reread_ = false;
  return Known(std::move(status));
}

absl::Status PathLook::LookAtPath() {
  struct stat info;
  if (stat(path_.c_str(), &info) != 0) return ErrnoToStatus(errno, "file:" + path_);
  if (S_ISDIR(info.st_mode)) return LookAtFolder();
  Files files;
  PENSTOCK_RETURN_IF_ERROR(LookAtFile("", path_, files));
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("file:", path_, ": it is neither a file nor a folder"));
  }
  files_ = std::move(files);
  return absl::OkStatus();
}

absl::Status PathLook::LookAtFolder() {
  const std::unique_ptr<DIR, CloseDir> folder(opendir(path_.c_str()));
  if (folder == nullptr) return ErrnoToStatus(errno, "file:" + path_);
  Files files;
  for (errno = 0; const dirent* entry = readdir(folder.get()); errno = 0) {
    const std::string name = entry->d_name;
    if (name.front() == '.') continue;
    if (files.size() == kMaxFiles) {
      return absl::ResourceExhaustedError(
          absl::StrCat("file:", path_, ": the folder has more than ", kMaxFiles,
                       " files; give a folder of address files only"));
    }
    PENSTOCK_RETURN_IF_ERROR(LookAtFile(name, absl::StrCat(path_, "/", name), files));
  }
  if (errno != 0) return ErrnoToStatus(errno, "file:" + path_);
  files_ = std::move(files);
  return absl::OkStatus();
}

absl::Status PathLook::LookAtFile(const std::string& name, const std::string& path,
                                  Files& files) const {
  File file;
  if (const auto known = files_.find(name); known != files_.end()) file = known->second;
  struct stat info;
  // Check before opening: a socket, such as that of --shm-socket, cannot be opened, and not every
  // user may try.
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return absl::OkStatus();
  // Do not block: the file may turn out to be a pipe.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    if (errno == ENOENT && !name.empty()) return absl::OkStatus();  // The file has vanished.
    file.problem = ErrnoToStatus(errno, "file:" + path);
    files[name] = std::move(file);
    return absl::OkStatus();
  }
  if (!S_ISREG(info.st_mode)) return absl::OkStatus();  // The file was replaced.
  const FileStamp stamp = FileStamp::Of(info);
  if (stamp != file.stamp || reread_) {
    absl::StatusOr<std::string> text = ReadText(fd.get(), kMaxFileBytes);
    // A file that could not be read is tried again at the next look.
    file.stamp = text.ok() ? stamp : FileStamp();
    absl::StatusOr<std::vector<std::string>> addresses =
        text.ok() ? ParseAddressLines(*text) : text.status();
    file.problem = Annotate(addresses.status(), "file:" + path);
    if (addresses.ok()) file.addresses = *std::move(addresses);
  }
  files[name] = std::move(file);
  return absl::OkStatus();
}

ServerSet PathLook::Known(absl::Status problem) const {
  ServerSet set = {{}, std::move(problem)};
  for (const auto& [name, file] : files_) {
    set.addresses.insert(set.addresses.end(), file.addresses.begin(), file.addresses.end());
    if (set.problem.ok()) set.problem = file.problem;
  }
  std::sort(set.addresses.begin(), set.addresses.end());
  set.addresses.erase(std::unique(set.addresses.begin(), set.addresses.end()), set.addresses.end());
  if (set.addresses.empty() && set.problem.ok()) {
    set.problem = absl::NotFoundError(absl::StrCat(
        "file:", path_,
        ": the folder has no address file; start penstock-server with --address-file in it"));
  }
  return set;
}

}  // namespace penstock
