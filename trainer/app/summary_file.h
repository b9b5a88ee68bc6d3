// Where a training's summary for programs goes.
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
  // An empty name: none. "-" is standard output: from now on all that is printed there goes to
  // standard error, and the summary alone will stand in it. An error: the file cannot be written,
  // which is better known before a training than after it.
  static absl::StatusOr<SummaryFile> Open(const std::string& file);

  bool wanted() const { return !file_.empty(); }
  // Once, at the end.
  absl::Status Write(absl::string_view json);

 private:
  SummaryFile(std::string file, UniqueFd stdout_fd)
      : file_(std::move(file)), stdout_(std::move(stdout_fd)) {}

  std::string file_;
  UniqueFd stdout_;  // What standard output was, if the summary goes there.
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_SUMMARY_FILE_H_
