// Writes files line by line for other programs.
#ifndef PENSTOCK_CLI_STREAM_LINE_FILE_H_
#define PENSTOCK_CLI_STREAM_LINE_FILE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/io/output_file.h"
#include "records/dataset/manifest.h"

namespace penstock {

// A file of --ids or of --waits. Replaces a file that an earlier run wrote. kAlreadyExists: there
// is a file with other content. Not thread-safe.
class LineFile {
 public:
  // Creates a file for WriteIds() with `manifest`.
  static absl::StatusOr<LineFile> CreateForIds(const std::string& path, const Manifest& manifest);
  // Creates a file for WriteWait(). Other programs can read each line as soon as it is written.
  static absl::StatusOr<LineFile> CreateForWaits(const std::string& path);

  // Writes "SHARD<TAB>NUMBER" for each row, with "<TAB>replaced" if it replaces a damaged row. If
  // it returns OK, the lines are in the file, so a later cursor may be printed.
  absl::Status WriteIds(std::span<const uint64_t> ids, const Manifest& manifest);
  // Writes "SECONDS<TAB>WAITED": the time when a batch arrived, and the duration of the wait for
  // it.
  absl::Status WriteWait(absl::Duration arrived, absl::Duration wait);

 private:
  LineFile(std::string path, std::unique_ptr<std::FILE, CloseFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}
  static absl::StatusOr<LineFile> Open(const std::string& path);
  absl::Status Check() const;
  absl::Status Flush();

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_LINE_FILE_H_
