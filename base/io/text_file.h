// Reads small files as a whole.
#ifndef PENSTOCK_BASE_IO_TEXT_FILE_H_
#define PENSTOCK_BASE_IO_TEXT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Returns the errors of FileSource::Open(). A file of more than `max_bytes` bytes is
// kInvalidArgument: "PATH: N bytes; LIMIT MAX_BYTES".
absl::StatusOr<std::string> ReadTextFile(const std::string& path, uint64_t max_bytes,
                                         absl::string_view limit = "at most");

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_TEXT_FILE_H_
