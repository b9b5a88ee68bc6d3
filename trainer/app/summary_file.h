// The destination of a training's summary for programs.
#ifndef PENSTOCK_TRAINER_APP_SUMMARY_FILE_H_
#define PENSTOCK_TRAINER_APP_SUMMARY_FILE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/unique_fd.h"

namespace penstock {

// The file of --json. Not thread-safe.
class SummaryFile {
 public:
  SummaryFile() = default;
  // Opens `file`; empty means none. "-" is standard output: from then on, everything else that is
  // printed there goes to standard error, so that standard output holds the summary alone. An error
  // means that the file cannot be written, which is found before the training rather than after it.
  static absl::StatusOr<SummaryFile> Open(const std::string& file);

  bool wanted() const { return !file_.empty(); }
  // Call once, at the end.
  absl::Status Write(absl::string_view json);

 private:
  SummaryFile(std::string file, UniqueFd stdout_fd)
      : file_(std::move(file)), stdout_(std::move(stdout_fd)) {}

  std::string file_;
  UniqueFd stdout_;  // The original standard output, if the summary goes there.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_SUMMARY_FILE_H_
