// The argument MANIFEST of the commands, which may be a folder too.
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

// Returns UsageError() if no dataset was given.
absl::Status CheckDatasetArgument(const std::string& name);

// Like CheckDatasetArgument(), for a command that reads files. It also refuses server:PATH, with
// the UsageError() "COMMAND reads files, and server:PATH is on servers: INSTEAD".
absl::Status CheckFilesArgument(const std::string& name, absl::string_view command,
                                absl::string_view instead);

// For a command that reads files. kNotFound: there is nothing at `name`.
absl::Status CheckFilesExist(const std::string& name);

// Calls OpenDataset() with a progress bar. Reports on stderr where a manifest was saved. A signal
// ends it. REQUIRES: no other InterruptGuard lives.
absl::StatusOr<OpenedDataset> OpenDatasetArgument(const std::string& path,
                                                  IndexOptions options = {});

// Opens the argument of a command that reads from servers. For server:PATH this is the manifest of
// options.servers, otherwise ManifestOfCursor() of OpenDatasetArgument(). UsageError():
// options.servers cannot have the manifest.
absl::StatusOr<std::shared_ptr<const Manifest>> OpenManifestArgument(const std::string& name,
                                                                     const LoaderOptions& options);

// Calls ChooseSpec() for options.manifest. options.spec is the spec of --spec, or has no tensors.
// Reports on stderr if a spec was made. If `dtype` is "auto", calls DefaultDtype() too.
absl::Status ChooseSpecOf(LoaderOptions& options, absl::string_view dtype);

// Calls BuildIndex() with a progress bar. A signal ends it.
absl::StatusOr<IndexResult> BuildIndexWithProgress(const std::vector<std::string>& paths,
                                                   IndexOptions options);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_DATASET_ARGUMENT_H_
