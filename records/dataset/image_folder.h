// Lists a folder of images: DIR/CLASS/.../NAME.jpg.
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
  std::string path;  // Relative to the top folder.
  uint32_t label = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;  // Nanoseconds since 1970.
};

struct ImageFolder {
  std::string path;
  // Class names by label. They may have any bytes except line breaks: names need not be UTF-8.
  std::vector<std::string> classes;
  std::vector<ImageFile> files;
  uint64_t bytes = 0;  // Total size of `files`.
  // Number of files that are left out because of their name, or because they are in no class
  // folder.
  uint64_t num_others = 0;
  std::string first_other;  // The path of the first such file that was seen.
};

// Lists `path` as torchvision's ImageFolder does. Each folder in it is a class, including hidden
// folders. Labels count from 0 in the order of the bytes of the class names. The images of a class
// are the files *.jpg, *.jpeg and *.png, in any case, at any depth beneath the class folder, also
// through links. They are ordered by the paths of their folders, then by name.
//
// `check` is called for each file and folder. If it returns an error, the listing ends with that
// error.
// kInvalidArgument: there is no class folder; a class has no such file; a class has a name with a
// line break; or a link leads to a folder that contains the link.
// kNotFound: a link to an image leads nowhere.
// kPermissionDenied: a folder cannot be read.
absl::StatusOr<ImageFolder> ListImageFolder(const std::string& path,
                                            const std::function<absl::Status()>& check);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_IMAGE_FOLDER_H_
