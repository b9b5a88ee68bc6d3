#include "cli/pack/shard_staging.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/atomic_file.h"
#include "base/io/text_file.h"
#include "base/status.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr char kKeyFile[] = "key";
constexpr char kPlacingFile[] = "placing";
constexpr uint64_t kMaxKeyBytes = 4096;

std::string FolderOf(const std::string& folder, const std::string& name) {
  return absl::StrCat(folder, "/.", name, ".partial");
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Locks the file. Also fails if another run has removed the file since it was opened.
absl::Status Lock(const UniqueFd& fd, const std::string& folder) {
  struct stat info {};
  const bool locked = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) return ErrnoToStatus(errno, absl::StrCat(folder, ": flock"));
  if (locked && ::fstat(fd.get(), &info) == 0 && info.st_nlink > 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      folder,
      ": another run is writing shards of this name; wait for it, or choose another --name"));
}

absl::Status Overwrite(const UniqueFd& fd, const std::string& text, const std::string& path) {
  const bool written =
      ::ftruncate(fd.get(), 0) == 0 &&
      ::pwrite(fd.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
      ::fsync(fd.get()) == 0;
  return written ? absl::OkStatus() : ErrnoToStatus(errno, path);
}

}  // namespace

absl::StatusOr<ShardStaging> ShardStaging::Open(const std::string& folder, const std::string& name,
                                                const std::string& key) {
  const std::string path = FolderOf(folder, name);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return ErrnoToStatus(error.value(), path);
  const std::string key_path = absl::StrCat(path, "/", kKeyFile);
  UniqueFd fd(::open(key_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) return ErrnoToStatus(errno, key_path);
  PENSTOCK_RETURN_IF_ERROR(Lock(fd, path));
  ShardStaging staging(path, std::move(fd), !key.empty());
  PENSTOCK_RETURN_IF_ERROR(staging.TakeOver(key));
  return staging;
}

absl::Status ShardStaging::TakeOver(const std::string& key) {
  const std::string key_path = PathOf(kKeyFile);
  PENSTOCK_ASSIGN_OR_RETURN(const std::string old_key, ReadTextFile(key_path, kMaxKeyBytes));
  if (!key.empty() && old_key == key) {
    placing_ = Exists(PathOf(kPlacingFile));
    return absl::OkStatus();
  }
  discarded_ = !old_key.empty();
  PENSTOCK_RETURN_IF_ERROR(RemoveAllBut(kKeyFile));
  return Overwrite(key_file_, key, key_path);
}

bool ShardStaging::StoppedWhilePlacing(const std::string& folder, const std::string& name) {
  return Exists(absl::StrCat(FolderOf(folder, name), "/", kPlacingFile));
}

ShardStaging::~ShardStaging() {
  if (!keep_ && key_file_.valid()) Remove().IgnoreError();  // The next run removes what is left.
}

absl::Status ShardStaging::BeginPlacing() {
  PENSTOCK_RETURN_IF_ERROR(WriteFileAtomically(PathOf(kPlacingFile), BytesOf("")));
  placing_ = true;
  return absl::OkStatus();
}

absl::Status ShardStaging::Remove() {
  PENSTOCK_RETURN_IF_ERROR(RemoveAllBut(kKeyFile));
  // The key file is the lock, so it is removed last.
  std::error_code error;
  fs::remove(PathOf(kKeyFile), error);
  if (!error) fs::remove(folder_, error);
  key_file_.Reset();
  return error ? ErrnoToStatus(error.value(), folder_) : absl::OkStatus();
}

absl::Status ShardStaging::RemoveAllBut(const std::string& file) const {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == file) continue;
    fs::remove_all(it->path(), error);
    if (error) break;
  }
  return error ? ErrnoToStatus(error.value(), folder_) : absl::OkStatus();
}

}  // namespace penstock
