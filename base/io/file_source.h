// A local file as a byte source.
#ifndef PENSTOCK_BASE_IO_FILE_SOURCE_H_
#define PENSTOCK_BASE_IO_FILE_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/io/byte_source.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Distinguishes a file from a changed file of the same name.
struct FileIdentity {
  uint64_t size = 0;
  int64_t modified_ns = 0;  // Nanoseconds since 1970.

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Reads with pread and never maps the file: if the file is truncated while it is read, a read gives
// an error, whereas a mapping would end the process. Thread-safe.
class FileSource : public ByteSource {
 public:
  // Opens a regular file; links are followed. Returns kNotFound, kPermissionDenied, or
  // kInvalidArgument if `path` is a folder, pipe, socket or device.
  static absl::StatusOr<std::unique_ptr<FileSource>> Open(const std::string& path);
  // Takes ownership of an open descriptor, with the same checks. `name` is for error messages.
  static absl::StatusOr<std::unique_ptr<FileSource>> FromDescriptor(UniqueFd fd, std::string name);

  absl::string_view name() const override { return name_; }
  uint64_t size() const override { return identity_.size; }
  // Size and modification time when the file was opened.
  const FileIdentity& identity() const { return identity_; }

  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override;

 private:
  FileSource(UniqueFd fd, std::string name, FileIdentity identity)
      : fd_(std::move(fd)), name_(std::move(name)), identity_(identity) {}

  const UniqueFd fd_;
  const std::string name_;
  const FileIdentity identity_;
};

// Reads a regular file as it is when it is opened. Errors are those of Open() and ReadAt().
absl::StatusOr<std::vector<uint8_t>> ReadWholeFile(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_FILE_SOURCE_H_
