// Writes NumPy's .npy files, version 1.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#ifndef PENSTOCK_RECORDS_DECODE_NPY_H_
#define PENSTOCK_RECORDS_DECODE_NPY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"

namespace penstock {

// Appends rows to an array [rows, row_shape...] whose number of rows is known only at the end. The
// file is written as PATH.PID.partial, and Finish() renames it, so PATH is always complete.
//
//   PENSTOCK_ASSIGN_OR_RETURN(NpyWriter writer,
//                             NpyWriter::Create("planes.npy", Dtype::kI8, shape));
//   PENSTOCK_RETURN_IF_ERROR(writer.Append(rows));
//   PENSTOCK_RETURN_IF_ERROR(writer.Finish());
//
// After an error, every further call returns that error. Not thread-safe.
class NpyWriter {
 public:
  // kInvalidArgument: dtype is kBf16, which NumPy does not support. Other errors follow errno.
  static absl::StatusOr<NpyWriter> Create(absl::string_view path, Dtype dtype,
                                          std::span<const uint32_t> row_shape);

  NpyWriter(NpyWriter&& other) noexcept;
  NpyWriter& operator=(NpyWriter&& other) noexcept;
  // Removes the partial file if Finish() was not called.
  ~NpyWriter();

  // kInvalidArgument: `rows` is not a whole number of rows. kResourceExhausted: the disk is full.
  absl::Status Append(std::span<const uint8_t> rows);

  // Writes the buffered rows and the number of rows, and renames the file. Call it once.
  absl::Status Finish();

 private:
  NpyWriter(std::string path, int fd, Dtype dtype, std::span<const uint32_t> row_shape);

  std::string partial_path() const;
  absl::Status Flush();
  absl::Status WriteAll(std::span<const uint8_t> bytes);
  absl::Status FinishFile();
  void Abandon();

  std::string path_;
  int fd_ = -1;
  Dtype dtype_;
  std::vector<uint32_t> row_shape_;
  size_t row_bytes_;
  uint64_t bytes_ = 0;  // Bytes of rows.
  std::vector<uint8_t> buffer_;
  absl::Status status_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_NPY_H_
