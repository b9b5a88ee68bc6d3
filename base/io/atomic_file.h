// A file that appears complete or not at all.
#ifndef PENSTOCK_BASE_IO_ATOMIC_FILE_H_
#define PENSTOCK_BASE_IO_ATOMIC_FILE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"

namespace penstock {

// The file is written under a hidden name in the same folder (".NAME.tmp-PID-N"), and Commit()
// renames it. Until then, an existing file of the final name stays intact. The destructor removes a
// file that was not committed. A killed process leaves the hidden file behind; nothing reads it.
// Not thread-safe.
class AtomicFile {
 public:
  // kInvalidArgument: `path` is a folder, a device or a pipe. Other errors follow errno
  // (ErrnoToStatus()).
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile() { Discard(); }

  // Appends `data`. kResourceExhausted: the disk is full.
  absl::Status Write(std::span<const uint8_t> data);
  // Flushes the file to the disk, renames it, and flushes the folder. Call it at most once.
  absl::Status Commit();
  // Removes the unfinished file. No other call may follow.
  void Discard();

  // The final name.
  const std::string& path() const { return path_; }

 private:
  AtomicFile(UniqueFd fd, std::string path, std::string temporary)
      : fd_(std::move(fd)), path_(std::move(path)), temporary_(std::move(temporary)) {}

  absl::Status Close();

  UniqueFd fd_;
  std::string path_;
  std::string temporary_;  // Empty after Commit() or Discard().
};

// If `hidden` is the name, without its folder, of a hidden file that a killed process left behind,
// returns the final name. Otherwise returns an empty string.
std::string UnfinishedFileName(absl::string_view hidden);

// Flushes the folder of `path`, so that names created, renamed or removed in it are on the disk.
absl::Status SyncFolderOf(const std::string& path);

// Creates, writes and commits an AtomicFile.
absl::Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> data);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_ATOMIC_FILE_H_
