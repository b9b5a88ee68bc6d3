// What a user names to be read once, from its begin to its end.
#ifndef PENSTOCK_BASE_IO_INPUT_FILE_H_
#define PENSTOCK_BASE_IO_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/io/unique_fd.h"

namespace penstock {

// How long a pipe may have no writer.
inline constexpr absl::Duration kWriterPatience = absl::Seconds(10);

struct InputFile {
  UniqueFd fd;
  std::string first;  // What was read already; at most a byte.
};

// Opens a regular file, a pipe or /dev/null; links are followed, as /dev/stdin and the /dev/fd/63
// of a shell's `<(command)`. Reads of the descriptor wait. A named pipe may have no writer yet:
// it is waited for, at most for `patience`; a writer may then take as long as it likes.
// kNotFound, kPermissionDenied; kInvalidArgument: a folder, a socket or another device;
// kDeadlineExceeded: no program opened the pipe to write. An error of `interrupted`, which may be
// null, ends the wait.
absl::StatusOr<InputFile> OpenInput(const std::string& path,
                                    absl::Duration patience = kWriterPatience,
                                    absl::Status (*interrupted)() = nullptr);

// All that such a file holds. kResourceExhausted too: it is more than `max_bytes`.
absl::StatusOr<std::string> ReadInput(const std::string& path, uint64_t max_bytes,
                                      absl::Duration patience = kWriterPatience);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_INPUT_FILE_H_
