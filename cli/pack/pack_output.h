// Output and messages of `penstock pack` that all kinds of input share.
#ifndef PENSTOCK_CLI_PACK_PACK_OUTPUT_H_
#define PENSTOCK_CLI_PACK_PACK_OUTPUT_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/pack/pack_options.h"
#include "cli/pack/record_source.h"
#include "cli/pack/write_shards.h"
#include "nlohmann/json_fwd.hpp"

namespace penstock {

// The options' name of shards, or else `default_name`, and compression. UsageError(): the name is
// no plain file name. Further errors as CheckOutput(), which makes the folder.
absl::Status PrepareOutput(const std::string& default_name, PackOptions& options);

// WriteShards() with a progress bar; tells on stderr what an earlier run has finished. `unit`:
// "images". `before_naming` may be empty. REQUIRES: an InterruptGuard lives.
absl::StatusOr<WrittenShards> WriteWithProgress(
    const RecordSource& source, const PackOptions& options, const std::string& unit,
    const std::function<absl::Status()>& before_naming = {});

// With --json, writes a summary of the shards, and `more`.
absl::Status WriteSummary(const WrittenShards& written, const PackOptions& options,
                          const nlohmann::json& more);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_PACK_OUTPUT_H_
