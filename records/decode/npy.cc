#include "records/decode/npy.h"
#include "base/bytes_of.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
// Magic 6 bytes, version 2, length 2, then the description. It is padded with spaces, so that the
// data is aligned to 64 bytes and a longer number of rows still fits.
constexpr size_t kHeaderBytes = 192;
constexpr size_t kPreambleBytes = 10;
constexpr size_t kMaxShapeAxes = 8;

absl::string_view Description(Dtype dtype) {
  switch (dtype) {
    case Dtype::kU8:
      return "|u1";
    case Dtype::kI8:
      return "|i1";
    case Dtype::kF32:
      return "<f4";
    case Dtype::kF64:
      return "<f8";
    case Dtype::kI64:
      return "<i8";
    case Dtype::kI32:
      return "<i4";
    case Dtype::kBf16:
      break;
  }
  return "";
}

std::string Header(Dtype dtype, uint64_t rows, std::span<const uint32_t> row_shape) {
  std::string shape = absl::StrCat("(", rows, ",");
  for (const uint32_t size : row_shape) absl::StrAppend(&shape, " ", size, ",");
  if (!row_shape.empty()) shape.pop_back();
  const size_t length = kHeaderBytes - kPreambleBytes;
  std::string header("\x93NUMPY\x01\x00", 8);
  header += {static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  absl::StrAppend(&header, "{'descr': '", Description(dtype),
                  "', 'fortran_order': False, 'shape': ", shape, "), }");
  header.resize(kHeaderBytes - 1, ' ');
  return header + "\n";
}

size_t RowBytes(Dtype dtype, std::span<const uint32_t> row_shape) {
  size_t bytes = DtypeSize(dtype);
  for (const uint32_t size : row_shape) bytes *= size;
  return bytes;
}

// Contains the process id, so that two processes writing the same array do not share a file.
std::string PartialPath(absl::string_view path) {
  return absl::StrCat(path, ".", ::getpid(), ".partial");
}

}  // namespace

absl::StatusOr<NpyWriter> NpyWriter::Create(absl::string_view path, Dtype dtype,
                                            std::span<const uint32_t> row_shape) {
  if (Description(dtype).empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": .npy files cannot hold ",
                                                   DtypeName(dtype),
                                                   "; write f32, which holds every value of it"));
  }
  if (row_shape.size() > kMaxShapeAxes || RowBytes(dtype, row_shape) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a row has at most ", kMaxShapeAxes, " axes, none of size 0"));
  }
  const std::string partial = PartialPath(path);
  const int fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoToStatus(errno, absl::StrCat("creating ", partial));
  return NpyWriter(std::string(path), fd, dtype, row_shape);
}

NpyWriter::NpyWriter(std::string path, int fd, Dtype dtype, std::span<const uint32_t> row_shape)
    : path_(std::move(path)),
      fd_(fd),
      dtype_(dtype),
      row_shape_(row_shape.begin(), row_shape.end()),
      row_bytes_(RowBytes(dtype, row_shape)) {
  const std::string header = Header(dtype, 0, row_shape);
  buffer_.reserve(kBufferBytes);
  buffer_.assign(header.begin(), header.end());
}

NpyWriter::NpyWriter(NpyWriter&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      dtype_(other.dtype_),
      row_shape_(std::move(other.row_shape_)),
      row_bytes_(other.row_bytes_),
      bytes_(other.bytes_),
      buffer_(std::move(other.buffer_)),
      status_(std::move(other.status_)) {}

NpyWriter& NpyWriter::operator=(NpyWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(dtype_, other.dtype_);
  std::swap(row_shape_, other.row_shape_);
  std::swap(row_bytes_, other.row_bytes_);
  std::swap(bytes_, other.bytes_);
  std::swap(buffer_, other.buffer_);
  std::swap(status_, other.status_);
  return *this;
}

NpyWriter::~NpyWriter() { Abandon(); }

std::string NpyWriter::partial_path() const { return PartialPath(path_); }

absl::Status NpyWriter::Append(std::span<const uint8_t> rows) {
  PENSTOCK_RETURN_IF_ERROR(status_);
  if (rows.size() % row_bytes_ != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": ", rows.size(), " bytes are no whole number of rows of ", row_bytes_, " bytes"));
  }
  bytes_ += rows.size();
  if (buffer_.size() + rows.size() > kBufferBytes) status_ = Flush();
  PENSTOCK_RETURN_IF_ERROR(status_);
  if (rows.size() > kBufferBytes) return status_ = WriteAll(rows);
  buffer_.insert(buffer_.end(), rows.begin(), rows.end());
  return absl::OkStatus();
}

absl::Status NpyWriter::Finish() {
  PENSTOCK_RETURN_IF_ERROR(status_);
  if (fd_ < 0) return absl::FailedPreconditionError(absl::StrCat(path_, ": already finished"));
  status_ = FinishFile();
  if (!status_.ok()) Abandon();
  return status_;
}

absl::Status NpyWriter::FinishFile() {
  PENSTOCK_RETURN_IF_ERROR(Flush());
  const std::string header = Header(dtype_, bytes_ / row_bytes_, row_shape_);
  if (::lseek(fd_, 0, SEEK_SET) != 0) return ErrnoToStatus(errno, "seeking in " + partial_path());
  PENSTOCK_RETURN_IF_ERROR(WriteAll(BytesOf(header)));
  if (::close(std::exchange(fd_, -1)) != 0) {
    const absl::Status failed = ErrnoToStatus(errno, "closing " + partial_path());
    ::unlink(partial_path().c_str());
    return failed;
  }
  if (::rename(partial_path().c_str(), path_.c_str()) != 0) {
    const absl::Status failed =
        ErrnoToStatus(errno, absl::StrCat("renaming ", partial_path(), " to ", path_));
    ::unlink(partial_path().c_str());
    return failed;
  }
  return absl::OkStatus();
}

absl::Status NpyWriter::Flush() {
  PENSTOCK_RETURN_IF_ERROR(WriteAll(buffer_));
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status NpyWriter::WriteAll(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return ErrnoToStatus(
          errno, absl::StrCat("writing ", partial_path(), " after ", bytes_, " bytes of rows"));
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

void NpyWriter::Abandon() {
  if (fd_ < 0) return;
  ::close(std::exchange(fd_, -1));
  ::unlink(partial_path().c_str());
}

}  // namespace penstock
