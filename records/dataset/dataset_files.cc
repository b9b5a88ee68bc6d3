#include "records/dataset/dataset_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "records/dataset/class_names.h"
#include "records/dataset/image_folder.h"

namespace penstock {
namespace {

absl::StatusOr<DatasetFiles> ListImages(const std::string& folder, const ListOptions& listing) {
  PENSTOCK_ASSIGN_OR_RETURN(ImageFolder images,
                            ListImageFolder(folder, [&] { return listing.Check(); }));
  if (images.files.size() > kMostImageFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": has ", images.files.size(), " images; at most ", kMostImageFiles,
                     " can be read where they are: penstock pack --from folder ", folder,
                     " -o OUT makes shards of them, which are read faster too"));
  }
  DatasetFiles files;
  for (const ImageFile& image : images.files) {
    files.paths.push_back(absl::StrCat(folder, "/", image.path));
    files.labels.push_back(image.label);
  }
  files.class_names = std::move(images.classes);
  return files;
}

}  // namespace

absl::StatusOr<DatasetFiles> ListDatasetFiles(std::span<const std::string> paths,
                                              const IndexOptions& options) {
  if (options.stored.has_value() && options.stored->container == Container::kImageFile) {
    if (paths.size() == 1) return ListImages(paths[0], options.listing);
    return absl::InvalidArgumentError("--format image-folder takes one folder");
  }
  DatasetFiles files;
  PENSTOCK_ASSIGN_OR_RETURN(files.paths, ListShards(paths, options.listing));
  PENSTOCK_ASSIGN_OR_RETURN(files.class_names, ClassNamesBeside(files.paths));
  return files;
}

}  // namespace penstock
