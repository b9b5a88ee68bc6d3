#include "cli/data/array_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command.h"

namespace penstock {
namespace {

absl::Status CheckName(const std::string& tensor) {
  if (!absl::StrContains(tensor, "/") && tensor.find('\0') == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("tensor '", tensor, "': its name cannot be a file name; rename it in the spec"));
}

absl::StatusOr<NpzWriter> CreateFile(const std::string& path, bool force,
                                     std::span<const TensorInfo> tensors) {
  PENSTOCK_RETURN_IF_ERROR(CheckReplaces(path, force));
  std::vector<NpzArray> arrays;
  for (const TensorInfo& tensor : tensors) {
    arrays.push_back({tensor.name, tensor.dtype, tensor.shape});
  }
  return NpzWriter::Create(path, std::move(arrays));
}

absl::StatusOr<NpyWriter> CreateArray(const std::string& folder, bool force,
                                      const TensorInfo& tensor) {
  const std::string path = absl::StrCat(folder, "/", tensor.name, ".npy");
  PENSTOCK_RETURN_IF_ERROR(CheckReplaces(path, force));
  return NpyWriter::Create(path, tensor.dtype, tensor.shape);
}

// Says what to do if the disk is full.
absl::Status WithCure(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; free space there, or give another path"));
}

}  // namespace

absl::StatusOr<ArrayFiles> ArrayFiles::Create(const std::string& output, bool force,
                                              std::span<const TensorInfo> tensors) {
  ArrayFiles arrays;
  for (const TensorInfo& tensor : tensors) PENSTOCK_RETURN_IF_ERROR(CheckName(tensor.name));
  if (absl::EndsWith(output, ".npz")) {
    PENSTOCK_ASSIGN_OR_RETURN(arrays.file_, CreateFile(output, force, tensors));
    return arrays;
  }
  std::error_code error;
  std::filesystem::create_directories(output, error);
  if (error) return ErrnoToStatus(error.value(), output);
  for (const TensorInfo& tensor : tensors) {
    PENSTOCK_ASSIGN_OR_RETURN(NpyWriter file, CreateArray(output, force, tensor));
    arrays.files_.push_back(std::move(file));
  }
  return arrays;
}

absl::Status ArrayFiles::Append(std::span<const TensorView> tensors, size_t rows) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const uint8_t> bytes = tensors[i].bytes.first(rows * tensors[i].row_bytes);
    PENSTOCK_RETURN_IF_ERROR(
        WithCure(file_.has_value() ? file_->Append(i, bytes) : files_[i].Append(bytes)));
  }
  return absl::OkStatus();
}

absl::Status ArrayFiles::Finish() {
  if (file_.has_value()) return WithCure(file_->Finish());
  for (NpyWriter& file : files_) PENSTOCK_RETURN_IF_ERROR(WithCure(file.Finish()));
  return absl::OkStatus();
}

}  // namespace penstock
