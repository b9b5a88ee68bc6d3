// Writes rows as files of NumPy: a folder of .npy files, or one .npz file.
#ifndef PENSTOCK_CLI_DATA_ARRAY_FILES_H_
#define PENSTOCK_CLI_DATA_ARRAY_FILES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/loader/loader.h"
#include "records/decode/npy.h"
#include "records/decode/npz.h"
#include "records/decode/program.h"

namespace penstock {

// Writes one array for each tensor, with the tensor's name. Files get their names in Finish();
// without it no file is left. Not thread-safe.
class ArrayFiles {
 public:
  // `output` is a folder, which is created if needed, or a file if it ends with .npz. Existing
  // files are replaced only with `force`. kInvalidArgument: a tensor's name cannot be a file name,
  // or NumPy has no such type.
  static absl::StatusOr<ArrayFiles> Create(const std::string& output, bool force,
                                           std::span<const TensorInfo> tensors);

  // Appends the first `rows` rows of a batch of these tensors.
  absl::Status Append(std::span<const TensorView> tensors, size_t rows);
  absl::Status Finish();

 private:
  ArrayFiles() = default;

  std::vector<NpyWriter> files_;   // One for each tensor, or
  std::optional<NpzWriter> file_;  // one for all.
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_ARRAY_FILES_H_
