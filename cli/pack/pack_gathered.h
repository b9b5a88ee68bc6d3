// Packs input whose records `penstock pack` gathers first.
#ifndef PENSTOCK_CLI_PACK_PACK_GATHERED_H_
#define PENSTOCK_CLI_PACK_PACK_GATHERED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/pack/gather_records.h"
#include "cli/pack/pack_options.h"

namespace penstock {

// Returns each file as an input of its own.
std::vector<InputFiles> EachAlone(const std::vector<std::string>& files);

// Gathers the records of the inputs and writes them as shards, both with a progress bar. `kind`
// describes everything except PackOptions that determines the records. By default the shards have
// the name of the first of options.inputs, without its extension and number. UsageError(): an input
// lies in the output folder, which would then contain its records twice.
absl::Status PackGathered(const std::vector<InputFiles>& inputs, const OpenRecords& open,
                          const std::string& kind, PackOptions options);

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_PACK_GATHERED_H_
