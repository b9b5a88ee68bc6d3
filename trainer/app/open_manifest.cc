#include "trainer/app/open_manifest.h"

#include <cstdio>
#include <utility>

#include "client/loader/served_manifest.h"
#include "records/base/print_escaped.h"
#include "records/base/status.h"
#include "records/base/text.h"
#include "records/dataset/open_dataset.h"
#include "trainer/app/input_options.h"

namespace penstock {

absl::StatusOr<std::shared_ptr<const Manifest>> OpenManifest(
    const TrainerOptions& options, const v1::DecodeSpec& spec,
    const std::function<absl::Status()>& may_go_on) {
  if (IsServedManifest(options.manifest)) {
    return FetchManifest(options.manifest, ToLoaderOptions(options, nullptr, spec), may_go_on);
  }
  IndexOptions index;
  index.listing.check = may_go_on;
  index.progress = [&may_go_on](uint64_t) { return may_go_on(); };
  index.on_total = [&options](uint64_t bytes) {
    PrintEscaped(stderr, "indexing %s: %s bytes\n", options.manifest, Grouped(bytes));
  };
  index.on_wait = [&options, &may_go_on, told = false]() mutable {
    if (!std::exchange(told, true)) {
      PrintEscaped(stderr, "another run is indexing %s; waiting for it\n", options.manifest);
    }
    return may_go_on();
  };
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDataset(options.manifest, std::move(index)));
  if (dataset.indexed) PrintEscaped(stdout, "indexed; saved %s\n", dataset.manifest_path);
  return std::make_shared<const Manifest>(std::move(dataset.manifest));
}

}  // namespace penstock
