#include "records/decode/npz.h"

#include <unistd.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "base/io/zip_writer.h"
#include "base/status.h"

namespace penstock {
absl::StatusOr<NpzWriter> NpzWriter::Create(std::string path, std::vector<NpzArray> arrays) {
  NpzWriter npz(std::move(path), std::move(arrays));
  for (const NpzArray& array : npz.arrays_) {
    PENSTOCK_ASSIGN_OR_RETURN(NpyWriter writer,
                              NpyWriter::Create(npz.PartOf(array), array.dtype, array.row_shape));
    npz.writers_.push_back(std::move(writer));
  }
  return npz;
}

std::string NpzWriter::PartOf(const NpzArray& array) const {
  return absl::StrCat(path_, ".", array.name, ".npy");
}

absl::Status NpzWriter::Append(size_t array, std::span<const uint8_t> rows) {
  return writers_[array].Append(rows);
}

absl::Status NpzWriter::Finish() {
  PENSTOCK_ASSIGN_OR_RETURN(ZipWriter zip, ZipWriter::Create(path_));
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const std::string part = PartOf(arrays_[i]);
    const absl::Cleanup remove = [&part] { ::unlink(part.c_str()); };
    PENSTOCK_RETURN_IF_ERROR(writers_[i].Finish());
    PENSTOCK_ASSIGN_OR_RETURN(const auto source, FileSource::Open(part));
    PENSTOCK_RETURN_IF_ERROR(zip.Add(absl::StrCat(arrays_[i].name, ".npy"), *source));
  }
  return zip.Finish();
}

}  // namespace penstock
