#include "absl/strings/str_cat.h"
#include "client/loader/loader.h"

namespace penstock {

absl::Status LoaderOptions::Validate() const {
  if (manifest == nullptr) return absl::InvalidArgumentError("no manifest was given");
  if (world_size == 0 || rank >= world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " is not below the world size ", world_size));
  }
  if (global_batch_size < world_size) {
    return absl::InvalidArgumentError(absl::StrCat("a global batch of ", global_batch_size,
                                                   " rows gives some of ", world_size,
                                                   " ranks none: use at least ", world_size));
  }
  if (server_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("the server timeout must be more than 0");
  }
  return absl::OkStatus();
}

}  // namespace penstock
