// The argument MANIFEST of the commands: a DIR is accepted too.
#ifndef PENSTOCK_CLI_DATASET_ARGUMENT_H_
#define PENSTOCK_CLI_DATASET_ARGUMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "records/dataset/indexer.h"
#include "records/dataset/open_dataset.h"

namespace penstock {

// OpenDataset() with a progress bar; tells on stderr where a manifest was saved. A signal ends it.
// REQUIRES: no other InterruptGuard lives.
absl::StatusOr<OpenedDataset> OpenDatasetArgument(const std::string& path);

// BuildIndex() with the same.
absl::StatusOr<IndexResult> BuildIndexWithProgress(const std::vector<std::string>& paths,
                                                   IndexOptions options);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATASET_ARGUMENT_H_
