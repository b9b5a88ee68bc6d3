// What each rank prints, in files of its own.
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

// FOLDER/rank.N/stdout and stderr, N with as many digits on every rank, as horovodrun names them.
// One that was not made by Create() writes nothing. Not thread-safe.
class RankFiles {
 public:
  // Makes the folders; files that are there are written anew.
  static absl::StatusOr<RankFiles> Create(const std::string& folder, size_t ranks);

  // What cannot be written is told by Flush(): a full disk shall not end a training.
  void Write(size_t rank, bool is_error, absl::string_view line);

  // Names the first file that lacks something.
  absl::Status Flush();

 private:
  struct File {
    std::string path;
    std::ofstream stream;
  };
  std::vector<File> files_;  // Two a rank.
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_RANK_FILES_H_
