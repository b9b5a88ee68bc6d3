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

// Sets the shards' name, by default `default_name`, and their compression. UsageError(): the name
// is not a plain file name. Other errors are those of CheckOutput(), which makes the folder.
absl::Status PrepareOutput(const std::string& default_name, PackOptions& options);

// Calls WriteShards() with a progress bar, and reports on stderr what an earlier run has finished.
// `unit` names the records, such as "images". `before_naming` may be empty. REQUIRES: an
// InterruptGuard lives.
absl::StatusOr<WrittenShards> WriteWithProgress(
    const RecordSource& source, const PackOptions& options, const std::string& unit,
    const std::function<absl::Status()>& before_naming = {});

// With --json, writes a summary of the shards, including `more`.
absl::Status WriteSummary(const WrittenShards& written, const PackOptions& options,
                          const nlohmann::json& more);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_PACK_OUTPUT_H_
