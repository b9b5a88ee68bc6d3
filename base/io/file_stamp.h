// Detects whether a file is still the one that was read before.
#ifndef PENSTOCK_BASE_IO_FILE_STAMP_H_
#define PENSTOCK_BASE_IO_FILE_STAMP_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace penstock {

// If two stamps of a path are equal, nothing was written to the file and no other file replaced it.
// Take the stamp before you read the file, and keep it only if the read succeeds, so that a failed
// read is repeated.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t size = -1, modified_ns = 0, changed_ns = 0;

  static FileStamp Of(const struct stat& info) {
    return {info.st_dev, info.st_ino, info.st_size, Nanoseconds(info.st_mtim),
            Nanoseconds(info.st_ctim)};
  }
  // Returns the default stamp, which matches no file, if there is no file at `path`.
  static FileStamp At(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 ? Of(info) : FileStamp();
  }

  friend bool operator==(const FileStamp&, const FileStamp&) = default;

 private:
  static int64_t Nanoseconds(const timespec& time) {
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_FILE_STAMP_H_
