// Writes several arrays into one NumPy .npz file, which is a zip archive of .npy files.
#ifndef PENSTOCK_RECORDS_DECODE_NPZ_H_
#define PENSTOCK_RECORDS_DECODE_NPZ_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "records/decode/npy.h"

namespace penstock {

// An array [rows, row_shape...].
struct NpzArray {
  std::string name;  // ASCII without a slash.
  Dtype dtype = Dtype::kF32;
  std::vector<uint32_t> row_shape = {};
};

// Appends rows to each array. Their number need not be known in advance. Until Finish(), the rows
// are in files beside PATH, PATH.NAME.npy.PID.partial, so twice the space is needed. PATH is always
// complete.
//
//   PENSTOCK_ASSIGN_OR_RETURN(NpzWriter npz, NpzWriter::Create("p.npz", {{"id", Dtype::kI64}}));
//   PENSTOCK_RETURN_IF_ERROR(npz.Append(0, ids));
//   PENSTOCK_RETURN_IF_ERROR(npz.Finish());
//
// Not thread-safe.
class NpzWriter {
 public:
  // Errors are those of NpyWriter::Create().
  static absl::StatusOr<NpzWriter> Create(std::string path, std::vector<NpzArray> arrays);

  // Appends rows to the array with this index. Errors are those of NpyWriter::Append().
  absl::Status Append(size_t array, std::span<const uint8_t> rows);
  // Writes the archive. Call it once.
  absl::Status Finish();

 private:
  NpzWriter(std::string path, std::vector<NpzArray> arrays)
      : path_(std::move(path)), arrays_(std::move(arrays)) {}
  std::string PartOf(const NpzArray& array) const;

  std::string path_;
  std::vector<NpzArray> arrays_;
  std::vector<NpyWriter> writers_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_NPZ_H_
