// Loader::Open() of a dataset by its name.
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/loader.h"
#include "client/loader/option_names.h"
#include "client/loader/served_manifest.h"
#include "records/dataset/open_dataset.h"

namespace penstock {
namespace {

absl::StatusOr<std::shared_ptr<const Manifest>> OpenNamed(const std::string& dataset,
                                                          const LoaderOptions& options) {
  if (IsServedManifest(dataset)) return FetchManifest(dataset, options);
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset opened, OpenDataset(dataset));
  return std::make_shared<const Manifest>(std::move(opened.manifest));
}

absl::StatusOr<std::unique_ptr<Loader>> OpenDatasetNamed(const std::string& dataset,
                                                         LoaderOptions options) {
  PENSTOCK_ASSIGN_OR_RETURN(options.manifest, OpenNamed(dataset, options));
  PENSTOCK_ASSIGN_OR_RETURN(SpecChoice choice,
                            ChooseSpec(options.spec.message(), *options.manifest));
  if (options.report && !choice.note.empty()) options.report(choice.note);
  options.spec = std::move(choice.spec);
  if (options.spec_name.empty()) options.spec_name = std::move(choice.name);
  return Loader::Open(std::move(options));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loader>> Loader::Open(const std::string& dataset,
                                                     LoaderOptions options) {
  const bool messages_name_flags = options.messages_name_flags;
  absl::StatusOr<std::unique_ptr<Loader>> loader = OpenDatasetNamed(dataset, std::move(options));
  if (loader.ok() || messages_name_flags) return loader;
  return NameMembers(loader.status());
}

}  // namespace penstock
