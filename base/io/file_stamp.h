// Whether a file is the one that was read before.
#ifndef PENSTOCK_BASE_IO_FILE_STAMP_H_
#define PENSTOCK_BASE_IO_FILE_STAMP_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace penstock {

// Equal stamps of a path: nothing was written to it, and no other file was put in its place. Take
// it before the file is read, and keep it once that could be done: a failed read is tried again.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t size = -1, modified_ns = 0, changed_ns = 0;

  static FileStamp Of(const struct stat& info) {
    return {info.st_dev, info.st_ino, info.st_size, Nanoseconds(info.st_mtim),
            Nanoseconds(info.st_ctim)};
  }
  // That of no file where there is none at `path`.
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
