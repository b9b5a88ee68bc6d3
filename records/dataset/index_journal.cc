#include "records/dataset/index_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/bytes_of.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "records/dataset/list_shards.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

std::string JournalPath(const std::string& manifest_path) {
  const std::string name = manifest_path.substr(manifest_path.rfind('/') + 1);
  return absl::StrCat(FolderOfFile(manifest_path), "/.", name, ".partial");
}

// Says why the file beside the manifest cannot be created, and what to do if the folder is
// read-only.
absl::Status CannotOpen(int error_number, const std::string& path) {
  const absl::Status status = ErrnoToStatus(error_number, path);
  if (error_number != EACCES && error_number != EROFS && error_number != EPERM) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(),
                   ": the manifest cannot be written here. Write it elsewhere with penstock index "
                   "-o FILE (in a folder above the shards, or in any folder with --absolute), and "
                   "use FILE as the dataset"));
}

// Returns false if another run holds the lock, or has just removed the file and released the lock.
absl::StatusOr<bool> TryLock(const UniqueFd& fd, const std::string& path) {
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    return ErrnoToStatus(errno, absl::StrCat(path, ": flock"));
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return ErrnoToStatus(errno, path);
  return status.st_nlink > 0;
}

}  // namespace

absl::StatusOr<IndexJournal> IndexJournal::Open(const std::string& manifest_path,
                                                const std::function<absl::Status()>& on_wait) {
  const std::string path = JournalPath(manifest_path);
  while (true) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!fd.valid()) return CannotOpen(errno, path);
    PENSTOCK_ASSIGN_OR_RETURN(const bool locked, TryLock(fd, path));
    if (locked) return IndexJournal(std::move(fd), path);
    if (!on_wait) {
      return absl::UnavailableError(absl::StrCat(path, ": another run is indexing for ",
                                                 manifest_path,
                                                 "; wait until it ends, or stop it"));
    }
    PENSTOCK_RETURN_IF_ERROR(on_wait());
    // A blocking flock() has no time limit, and could not be ended by on_wait().
    absl::SleepFor(absl::Milliseconds(100));
  }
}

absl::Status IndexJournal::Begin(std::span<const std::string> keys) {
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadWholeFile(path_));
  const auto [end, last_key] = Take(bytes, keys);
  if (::ftruncate(fd_.get(), static_cast<off_t>(end)) != 0) return ErrnoToStatus(errno, path_);
  return last_key == keys[0] ? absl::OkStatus() : AppendRecord(keys[0]);
}

std::pair<size_t, std::string> IndexJournal::Take(std::span<const uint8_t> bytes,
                                                  std::span<const std::string> keys) {
  Frame frame;
  size_t end = 0;
  std::string key;
  for (; TryParseFrame(bytes, end, Verify::kPayload, frame); end += frame.size()) {
    absl::string_view text(reinterpret_cast<const char*>(frame.payload.data()),
                           frame.payload.size());
    if (absl::StartsWith(text, kKeyStart)) {
      key = std::string(text);
      continue;
    }
    if (absl::ConsumePrefix(&text, kDamagedStart)) {
      damaged_.emplace(text);
      finished_.erase(std::string(text));
      continue;
    }
    absl::StatusOr<Manifest> shard = Manifest::Parse(frame.payload);
    if (!shard.ok() || shard->shards().size() != 1) break;
    const std::string path = shard->shards()[0].path;
    damaged_.erase(path);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
    finished_.insert_or_assign(path, *std::move(shard));
  }
  return {end, key};
}

absl::Status IndexJournal::Append(const Manifest& shard) {
  PENSTOCK_ASSIGN_OR_RETURN(std::string bytes, shard.Serialize());
  return AppendRecord(bytes);
}

absl::Status IndexJournal::AppendDamaged(const std::string& path) {
  if (!damaged_.insert(path).second) return absl::OkStatus();
  return AppendRecord(absl::StrCat(kDamagedStart, path));
}

absl::Status IndexJournal::AppendRecord(const std::string& payload) {
  std::vector<uint8_t> bytes;
  AppendFrame(BytesOf(payload), bytes);
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = ::write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoToStatus(errno, absl::StrCat(path_, ": write"));
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

void IndexJournal::Remove() {
  ::unlink(path_.c_str());
  fd_.Reset();
}

}  // namespace penstock
