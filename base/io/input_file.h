// A file or pipe that a user names and that is read once, from beginning to end.
#ifndef PENSTOCK_BASE_IO_INPUT_FILE_H_
#define PENSTOCK_BASE_IO_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/io/unique_fd.h"

namespace penstock {

// Time that a pipe may be without a writer.
inline constexpr absl::Duration kWriterPatience = absl::Seconds(10);

struct InputFile {
  UniqueFd fd;
  std::string first;  // Bytes that were read while opening; at most one.
};

// Opens a regular file, a pipe or /dev/null for blocking reads. Links are followed, such as
// /dev/stdin and the /dev/fd/63 of a shell's `<(command)`. If a named pipe has no writer yet, waits
// for one for up to `patience`; the writer may then take as long as it likes. `interrupted` may be
// null; if it returns an error, the wait ends with that error.
// kNotFound, kPermissionDenied.
// kInvalidArgument: a folder, a socket or another device.
// kDeadlineExceeded: no program opened the pipe for writing.
absl::StatusOr<InputFile> OpenInput(const std::string& path,
                                    absl::Duration patience = kWriterPatience,
                                    absl::Status (*interrupted)() = nullptr);

// Reads all of such a file. Returns the errors of OpenInput(), or kResourceExhausted if the file
// has more than `max_bytes` bytes.
absl::StatusOr<std::string> ReadInput(const std::string& path, uint64_t max_bytes,
                                      absl::Duration patience = kWriterPatience);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_INPUT_FILE_H_
