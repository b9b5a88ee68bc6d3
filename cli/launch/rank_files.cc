#include "cli/launch/rank_files.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<RankFiles> RankFiles::Create(const std::string& folder, size_t ranks) {
  RankFiles result;
  const size_t digits = absl::StrCat(ranks - 1).size();
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::string number = absl::StrCat(rank);
    number.insert(0, digits - number.size(), '0');
    const std::string own = absl::StrCat(folder, "/rank.", number);
    std::error_code error;
    std::filesystem::create_directories(own, error);
    for (const char* name : {"stdout", "stderr"}) {
      File file{absl::StrCat(own, "/", name), {}};
      file.stream.open(file.path);
      if (!file.stream) return ErrnoToStatus(errno, absl::StrCat("writing ", file.path));
      result.files_.push_back(std::move(file));
    }
  }
  return result;
}

void RankFiles::Write(size_t rank, bool is_error, absl::string_view line) {
  if (files_.empty()) return;
  std::ofstream& stream = files_[2 * rank + (is_error ? 1 : 0)].stream;
  stream << line << '\n' << std::flush;
}

absl::Status RankFiles::Flush() {
  for (File& file : files_) {
    if (file.stream.flush()) continue;
    return absl::DataLossError(
        absl::StrCat(file.path, ": incomplete, because writing failed (is the disk full?)"));
  }
  return absl::OkStatus();
}

}  // namespace penstock
