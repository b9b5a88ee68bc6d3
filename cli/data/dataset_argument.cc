#include "cli/data/dataset_argument.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/flags/path_flags.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "client/flags/source_flags.h"
#include "client/loader/dataset_spec.h"
#include "client/loader/loader_plan.h"
#include "client/loader/served_manifest.h"

namespace penstock {
namespace {

// Shows a progress bar. Sets the callbacks of `options`, and must outlive them.
class IndexBar {
 public:
  explicit IndexBar(IndexOptions& options) {
    options.on_total = [this](uint64_t total) {
      bar_ = std::make_unique<Progress>(
          ProgressOptions{.label = "indexing", .unit = "bytes", .total = total});
    };
    options.listing.check = &InterruptGuard::Check;
    options.listing.skipped = [](const std::string& folder) {
      PrintEscaped(stderr, "penstock: %s cannot be read (permission denied); it is left out\n",
                   folder);
    };
    options.progress = [this](uint64_t bytes) {
      bar_->Add(bytes);
      return InterruptGuard::Check();
    };
  }

  void Finish(const std::string& result) {
    if (bar_ != nullptr) bar_->Finish(result);
  }

 private:
  InterruptGuard interrupts_;
  std::unique_ptr<Progress> bar_;
};

}  // namespace

absl::Status CheckDatasetArgument(const std::string& name) {
  const absl::Status given = CheckManifestFlag(name);
  return given.ok() ? given : UsageError(given.message());
}

absl::Status CheckFilesArgument(const std::string& name, absl::string_view command,
                                absl::string_view instead) {
  if (!IsServedManifest(name)) return CheckDatasetArgument(name);
  return UsageError(absl::StrCat(command, " reads files, and ", name, " is on servers: ", instead));
}

absl::Status CheckFilesExist(const std::string& name) {
  return CheckExists("dataset", name, "give a folder of shards, a manifest or a shard");
}

absl::StatusOr<OpenedDataset> OpenDatasetArgument(const std::string& path, IndexOptions options) {
  PENSTOCK_RETURN_IF_ERROR(CheckManifestExists(path));
  IndexBar bar(options);
  options.on_wait = [&path, told = false]() mutable {
    if (!std::exchange(told, true)) {
      PrintEscaped(stderr, "another run is indexing %s; waiting for it\n", path);
    }
    return InterruptGuard::Check();
  };
  PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDataset(path, options));
  if (dataset.indexed) {
    bar.Finish(options.in_memory
                   ? absl::StrCat("not saved; run penstock index ", path, " to save a manifest")
                   : absl::StrCat("saved as ", dataset.manifest_path));
  }
  return dataset;
}

absl::StatusOr<std::shared_ptr<const Manifest>> OpenManifestArgument(const std::string& name,
                                                                     const LoaderOptions& options) {
  if (!IsServedManifest(name)) {
    PENSTOCK_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDatasetArgument(name));
    LoaderOptions with_manifest = options;
    with_manifest.manifest = std::make_shared<const Manifest>(std::move(dataset.manifest));
    return ManifestOfCursor(dataset.manifest_path, with_manifest);
  }
  const absl::Status valid = CheckServedManifest(name, options.servers);
  if (!valid.ok()) return UsageError(valid.message());
  InterruptGuard interrupts;
  absl::StatusOr<std::shared_ptr<const Manifest>> manifest =
      FetchManifest(name, options, &InterruptGuard::Check);
  const absl::Status interrupted = InterruptGuard::Check();
  return interrupted.ok() ? std::move(manifest) : interrupted;
}

absl::Status ChooseSpecOf(LoaderOptions& options, absl::string_view dtype) {
  PENSTOCK_ASSIGN_OR_RETURN(SpecChoice choice,
                            ChooseSpec(options.spec.message(), *options.manifest));
  if (!choice.note.empty()) PrintEscaped(stderr, "penstock: %s\n", choice.note);
  options.spec = std::move(choice.spec);
  options.spec_name = std::move(choice.name);
  if (dtype == kAutoDtype) options.dtype = DefaultDtype(options.spec.message());
  return absl::OkStatus();
}

absl::StatusOr<IndexResult> BuildIndexWithProgress(const std::vector<std::string>& paths,
                                                   IndexOptions options) {
  IndexBar bar(options);
  PENSTOCK_ASSIGN_OR_RETURN(IndexResult result, BuildIndex(paths, options));
  if (result.saved) bar.Finish(absl::StrCat("saved as ", options.output));
  return result;
}

}  // namespace penstock
