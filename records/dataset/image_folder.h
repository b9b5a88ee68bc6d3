// A folder of images: DIR/CLASS/.../NAME.jpg.
#ifndef PENSTOCK_RECORDS_DATASET_IMAGE_FOLDER_H_
#define PENSTOCK_RECORDS_DATASET_IMAGE_FOLDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

struct ImageFile {
  std::string path;  // Relative to the folder.
  uint32_t label = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
};

struct ImageFolder {
  std::string path;
  std::vector<std::string>
      classes;  // By label. Any bytes but line breaks: names need not be UTF-8.
  std::vector<ImageFile> files;
  uint64_t bytes = 0;  // Of the files.
  // Files that are not packed: those of other names, and those in no class folder.
  uint64_t num_others = 0;
  std::string first_other;  // Its path; the first that was seen.
};

// Lists `path` as torchvision's ImageFolder does. Each folder in it is a class, hidden ones too;
// labels count from 0 in the order of their names' bytes. The images of a class are the files
// *.jpg, *.jpeg and *.png (or in capital letters) at any depth beneath its folder, through links
// too, in the order of their folders' paths and then of their names.
//
// `check` is called for each file and folder; what it returns but OK ends the listing.
// kInvalidArgument: there is no class folder, a class has no such file or a name with a line break,
// or a link leads to a folder that it lies in. kNotFound: a link to an image leads nowhere.
// kPermissionDenied: a folder may not be read.
absl::StatusOr<ImageFolder> ListImageFolder(const std::string& path,
                                            const std::function<absl::Status()>& check);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_IMAGE_FOLDER_H_
