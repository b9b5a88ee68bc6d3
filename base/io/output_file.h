// What a user names to be written from its begin on, while a program runs.
#ifndef PENSTOCK_BASE_IO_OUTPUT_FILE_H_
#define PENSTOCK_BASE_IO_OUTPUT_FILE_H_

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Makes or opens the file and empties it, unless it is to `append`. It may be a pipe or a device.
// An error names the path; kFailedPrecondition: a pipe that no program reads.
absl::StatusOr<std::unique_ptr<std::FILE, CloseFile>> OpenOutput(const std::string& path,
                                                                 bool append);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_OUTPUT_FILE_H_
