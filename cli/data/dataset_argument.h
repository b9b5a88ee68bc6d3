// The argument MANIFEST of the commands: a DIR is accepted too.
#ifndef PENSTOCK_CLI_DATA_DATASET_ARGUMENT_H_
#define PENSTOCK_CLI_DATA_DATASET_ARGUMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/loader/loader.h"
#include "records/dataset/indexer.h"
#include "records/dataset/open_dataset.h"

namespace penstock {

// UsageError() if no dataset was given.
absl::Status CheckDatasetArgument(const std::string& name);

// OpenDataset() with a progress bar; tells on stderr where a manifest was saved. A signal ends it.
// REQUIRES: no other InterruptGuard lives.
absl::StatusOr<OpenedDataset> OpenDatasetArgument(const std::string& path,
                                                  IndexOptions options = {});

// What the argument of a command that reads from servers means: OpenDatasetArgument(), or of
// server:PATH the manifest that options.servers have. UsageError(): they cannot have it.
absl::StatusOr<std::shared_ptr<const Manifest>> OpenManifestArgument(const std::string& name,
                                                                     const LoaderOptions& options);

// ChooseSpec() for options.manifest, where options.spec is what --spec names or has no tensors;
// tells on stderr of one that was made. With a `dtype` of "auto", DefaultDtype() too.
absl::Status ChooseSpecOf(LoaderOptions& options, absl::string_view dtype);

// BuildIndex() with the same.
absl::StatusOr<IndexResult> BuildIndexWithProgress(const std::vector<std::string>& paths,
                                                   IndexOptions options);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_DATASET_ARGUMENT_H_
