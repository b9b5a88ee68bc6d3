// Writes the output of each rank to files of its own.
#ifndef PENSTOCK_CLI_LAUNCH_RANK_FILES_H_
#define PENSTOCK_CLI_LAUNCH_RANK_FILES_H_

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Writes FOLDER/rank.N/stdout and stderr. As with horovodrun, N has the same number of digits on
// every rank. Writes nothing unless it was made by Create(). Not thread-safe.
class RankFiles {
 public:
  // Makes the folders. Existing files are overwritten.
  static absl::StatusOr<RankFiles> Create(const std::string& folder, size_t ranks);

  // Writes a line. Flush() reports failed writes, because a full disk must not end a training.
  void Write(size_t rank, bool is_error, absl::string_view line);

  // Returns an error for the first file that is incomplete.
  absl::Status Flush();

 private:
  struct File {
    std::string path;
    std::ofstream stream;
  };
  std::vector<File> files_;  // Two for each rank.
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_RANK_FILES_H_
