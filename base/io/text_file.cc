#include "base/io/text_file.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/io/file_source.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t max_bytes,
                                         absl::string_view limit) {
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> file, FileSource::Open(path));
  if (file->size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", file->size(), " bytes; ", limit, " ", max_bytes));
  }
  std::string text(file->size(), '\0');
  PENSTOCK_RETURN_IF_ERROR(file->ReadAt(0, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return text;
}

}  // namespace penstock
