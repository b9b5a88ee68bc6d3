#include "cli/pack/record_spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/status.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

absl::StatusOr<RecordSpool> RecordSpool::Create(const std::string& folder) {
  std::string path = absl::StrCat(folder, "/.records-XXXXXX");
  UniqueFd fd(::mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoToStatus(errno, absl::StrCat(folder, ": temporary file"));
  if (::unlink(path.c_str()) != 0) return ErrnoToStatus(errno, path);
  return RecordSpool(std::move(fd), absl::StrCat(folder, ": temporary file of records"));
}

absl::StatusOr<uint64_t> RecordSpool::Append(std::span<const uint8_t> payload) {
  const uint64_t offset = written_ + buffer_.size();
  AppendFrame(payload, buffer_);
  if (buffer_.size() >= kBufferBytes) PENSTOCK_RETURN_IF_ERROR(Flush());
  return offset;
}

absl::StatusOr<std::unique_ptr<FileSource>> RecordSpool::Finish() {
  PENSTOCK_RETURN_IF_ERROR(Flush());
  return FileSource::FromDescriptor(std::move(fd_), name_);
}

absl::Status RecordSpool::Flush() {
  for (std::span<const uint8_t> rest = buffer_; !rest.empty();) {
    const ssize_t count = ::write(fd_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return ErrnoToStatus(errno, absl::StrCat(name_, ", after ", FormatByteSize(written_)));
    }
    written_ += static_cast<uint64_t>(count);
    rest = rest.subspan(static_cast<size_t>(count));
  }
  buffer_.clear();
  return absl::OkStatus();
}

}  // namespace penstock
