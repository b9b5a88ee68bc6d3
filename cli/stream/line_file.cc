#include "cli/stream/line_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "records/format/record_id.h"

namespace penstock {
namespace {

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// Returns the first line of a file, up to the length of a path and a number, or "" if `path` is not
// a file.
std::string FirstLine(const std::string& path) {
  char head[8192] = {};
  if (IsFile(path)) std::ifstream(path).getline(head, sizeof(head));
  return head;
}

// Whether WriteIds() may have written this line for a shard of `manifest`.
bool IsIdLine(absl::string_view line, const Manifest& manifest) {
  const std::vector<absl::string_view> columns = absl::StrSplit(line, '\t');
  return columns.size() >= 2 && std::any_of(manifest.shards().begin(), manifest.shards().end(),
                                            [&](auto& shard) { return shard.path == columns[0]; });
}

// Whether WriteWait() may have written this line.
bool IsWaitLine(absl::string_view line) {
  const std::vector<absl::string_view> columns = absl::StrSplit(line, '\t');
  double seconds = 0;
  return columns.size() == 2 && absl::SimpleAtod(columns[0], &seconds) &&
         absl::SimpleAtod(columns[1], &seconds);
}

// kAlreadyExists: the file holds something that an earlier run did not write. It may be a shard or
// a file of the user.
absl::Status CheckReplaceable(absl::string_view option, const std::string& path, bool ours) {
  std::error_code error;
  if (ours || !IsFile(path) || std::filesystem::file_size(path, error) == 0)
    return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat(option, ": ", path, " exists and was not written by ", option,
                   " from this data, so it is not replaced; choose another name"));
}

}  // namespace

absl::StatusOr<LineFile> LineFile::Open(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(auto file, OpenOutput(path, /*append=*/false));
  return LineFile(path, std::move(file));
}

absl::StatusOr<LineFile> LineFile::CreateForIds(const std::string& path, const Manifest& manifest) {
  PENSTOCK_RETURN_IF_ERROR(CheckReplaceable("--ids", path, IsIdLine(FirstLine(path), manifest)));
  return Open(path);
}

absl::StatusOr<LineFile> LineFile::CreateForWaits(const std::string& path) {
  PENSTOCK_RETURN_IF_ERROR(CheckReplaceable("--waits", path, IsWaitLine(FirstLine(path))));
  PENSTOCK_ASSIGN_OR_RETURN(LineFile lines, Open(path));
  std::setvbuf(lines.file_.get(), nullptr, _IOLBF, BUFSIZ);
  return lines;
}

absl::Status LineFile::WriteIds(std::span<const uint64_t> ids, const Manifest& manifest) {
  for (uint64_t id : ids) {
    const RecordPlace place = manifest.PlaceOf(OrdinalOf(id));
    PrintEscaped(file_.get(), "%s\t%d%s\n", place.shard.path, place.number,
                 Multiline(IsReplaced(id) ? "\treplaced" : ""));
  }
  PENSTOCK_RETURN_IF_ERROR(Check());
  return Flush();
}

absl::Status LineFile::WriteWait(absl::Duration arrived, absl::Duration wait) {
  PrintEscaped(file_.get(), "%.6f\t%.6f\n", absl::ToDoubleSeconds(arrived),
               absl::ToDoubleSeconds(wait));
  return Check();
}

absl::Status LineFile::Flush() {
  return std::fflush(file_.get()) == 0 ? absl::OkStatus() : ErrnoToStatus(errno, path_);
}

absl::Status LineFile::Check() const {
  return std::ferror(file_.get()) ? ErrnoToStatus(errno, path_) : absl::OkStatus();
}

}  // namespace penstock
