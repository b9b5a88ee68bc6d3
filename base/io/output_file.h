// A file that a user names and that a program writes from the beginning while it runs.
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

// Creates or opens the file. If `append` is false, also empties it. The file may be a pipe or a
// device. An error names the path. kFailedPrecondition: no program reads the pipe.
absl::StatusOr<std::unique_ptr<std::FILE, CloseFile>> OpenOutput(const std::string& path,
                                                                 bool append);

}  // namespace penstock

#endif  // PENSTOCK_BASE_IO_OUTPUT_FILE_H_
