// A file that appears whole or not at all.
#ifndef PENSTOCK_BASE_IO_ATOMIC_FILE_H_
#define PENSTOCK_BASE_IO_ATOMIC_FILE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Written under a hidden name in the same folder (".NAME.tmp-PID-N") and renamed by Commit(); what
// stood under the final name stays whole until then. The destructor removes what was not
// committed. A killed process leaves the hidden file behind; nothing reads it.
// Not thread-safe.
class AtomicFile {
 public:
  // kInvalidArgument: `path` is a folder, a device or a pipe.
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile() { Discard(); }

  // Appends. kResourceExhausted: the disk is full.
  absl::Status Write(std::span<const uint8_t> data);
  // Flushes to the disk, renames, flushes the folder. Once.
  absl::Status Commit();
  // Removes the file; nothing may follow.
  void Discard();

  const std::string& path() const { return path_; }

 private:
  AtomicFile(UniqueFd fd, std::string path, std::string temporary)
      : fd_(std::move(fd)), path_(std::move(path)), temporary_(std::move(temporary)) {}

  absl::Status Close();

  UniqueFd fd_;
  std::string path_;
  std::string temporary_;  // Empty once committed or discarded.
};

// The final name of a file that a killed process was writing, by the hidden one's name without its
// folder; empty: it is none.
std::string UnfinishedFileName(absl::string_view hidden);

// Flushes the folder that `path` lies in: its names are then on the disk.
absl::Status SyncFolderOf(const std::string& path);

// AtomicFile in one call.
absl::Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> data);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_ATOMIC_FILE_H_
