// What `penstock pack` does with input whose records it gathers first.
#ifndef PENSTOCK_CLI_PACK_PACK_GATHERED_H_
#define PENSTOCK_CLI_PACK_PACK_GATHERED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/pack/gather_records.h"
#include "cli/pack/pack_options.h"

namespace penstock {

// UsageError(): an input lies in the output folder, which would then have its records twice.
absl::Status CheckApart(const std::vector<std::string>& inputs, const PackOptions& options);

// Gathers the records of the files and writes them as shards, both with a progress bar. `kind`
// stands for all but the options above that decides the records. `default_name`: of the shards.
absl::Status PackGathered(const std::vector<std::string>& files, const OpenRecords& open,
                          const std::string& kind, const std::string& default_name,
                          PackOptions options);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_PACK_GATHERED_H_
