#include "trainer/app/summary_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/flags/json_flag.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<SummaryFile> SummaryFile::Open(const std::string& file) {
  if (file.empty()) return SummaryFile();
  if (file != kStandardOutput) {
    PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(file));
    return SummaryFile(file, UniqueFd());
  }
  std::fflush(stdout);
  UniqueFd before(dup(STDOUT_FILENO));
  if (before.get() < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return ErrnoToStatus(errno, "--json -");
  }
  return SummaryFile(file, std::move(before));
}

absl::Status SummaryFile::Write(absl::string_view json) {
  if (stdout_.get() >= 0) {
    std::fflush(stdout);
    if (dup2(stdout_.get(), STDOUT_FILENO) < 0) return ErrnoToStatus(errno, "--json -");
  }
  return WriteJson(file_, json);
}

}  // namespace penstock
