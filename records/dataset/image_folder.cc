#include "records/dataset/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/io/file_stamp.h"
#include "base/status.h"
#include "base/text.h"
#include "records/dataset/class_names.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The folders and files in a folder, sorted by name.
struct Entries {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};

class FolderListing {
 public:
  FolderListing(const std::string& path, const std::function<absl::Status()>& check)
      : check_(check) {
    out_.path = path;
  }

  absl::StatusOr<ImageFolder> Run() {
    PENSTOCK_ASSIGN_OR_RETURN(const Entries top, Read(""));
    for (const std::string& file : top.files) LeaveOut(file);
    if (top.folders.empty()) return NoClasses(top);
    out_.classes = top.folders;
    if (absl::Status status = CheckClassNames(out_.classes); !status.ok()) {
      return Annotate(status, absl::StrCat(out_.path, ": rename the folder"));
    }
    std::vector<std::string> empty;
    for (size_t label = 0; label < out_.classes.size(); ++label) {
      const size_t before = out_.files.size();
      PENSTOCK_RETURN_IF_ERROR(ListClass(static_cast<uint32_t>(label)));
      if (out_.files.size() == before) empty.push_back(PathOf(out_.classes[label]));
    }
    if (!empty.empty()) return EmptyClasses(empty);
    return std::move(out_);
  }

 private:
  std::string PathOf(const std::string& relative) const {
    return relative.empty() ? out_.path : absl::StrCat(out_.path, "/", relative);
  }

  // Lists the folder at a path relative to the top folder.
  absl::StatusOr<Entries> Read(const std::string& folder) {
    const std::string path = PathOf(folder);
    Entries entries;
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      PENSTOCK_RETURN_IF_ERROR(check_());
      std::error_code unknown;  // A link that leads nowhere counts as a file.
      const std::string name = it->path().filename().string();
      if (!it->is_directory(unknown)) {
        entries.files.push_back(name);
        continue;
      }
      if (it->is_symlink(unknown) && LeadsToItself(it->path().string())) {
        return absl::InvalidArgumentError(
            absl::StrCat(it->path().string(),
                         ": is a link to a folder that contains it, so its images would be packed "
                         "again and again; remove the link"));
      }
      entries.folders.push_back(name);
    }
    if (error) return ErrnoToStatus(error.value(), path);
    std::sort(entries.folders.begin(), entries.folders.end());
    std::sort(entries.files.begin(), entries.files.end());
    return entries;
  }

  // Lists the files in the order of sorted(os.walk()): the path of the folder decides first, then
  // the name of the file.
  absl::Status ListClass(uint32_t label) {
    std::vector<std::string> folders = {out_.classes[label]};
    std::vector<std::pair<std::string, std::vector<std::string>>> found;
    while (!folders.empty()) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      PENSTOCK_ASSIGN_OR_RETURN(Entries entries, Read(folder));
      for (const std::string& name : entries.folders) {
        folders.push_back(absl::StrCat(folder, "/", name));
      }
      found.emplace_back(folder, std::move(entries.files));
    }
    std::sort(found.begin(), found.end());
    for (const auto& [folder, files] : found) {
      for (const std::string& name : files) {
        PENSTOCK_RETURN_IF_ERROR(AddFile(absl::StrCat(folder, "/", name), label));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddFile(std::string path, uint32_t label) {
    if (!IsImageName(path)) {
      LeaveOut(path);
      return absl::OkStatus();
    }
    const FileStamp stamp = FileStamp::At(PathOf(path));
    if (stamp.size < 0) {
      return absl::NotFoundError(absl::StrCat(
          PathOf(path), ": is a link whose target does not exist; repair or remove the link"));
    }
    const auto size = static_cast<uint64_t>(stamp.size);
    out_.bytes += size;
    out_.files.push_back({std::move(path), label, size, stamp.modified_ns});
    return absl::OkStatus();
  }

  void LeaveOut(const std::string& path) {
    if (out_.num_others++ == 0) out_.first_other = PathOf(path);
  }

  absl::Status NoClasses(const Entries& top) const {
    const auto images = std::count_if(top.files.begin(), top.files.end(), IsImageName);
    return absl::InvalidArgumentError(absl::StrCat(
        out_.path, ": has no class folders",
        images > 0 ? absl::StrCat(", and ", Counted(images, "image", "images"), " of no class")
                   : "",
        ": put the images of each class into a folder of its own, ", out_.path,
        "/CLASS/NAME.jpg, and name the folder above them"));
  }

  static absl::Status EmptyClasses(const std::vector<std::string>& empty) {
    return absl::InvalidArgumentError(absl::StrCat(
        empty[0],
        empty.size() == 1
            ? " has"
            : absl::StrCat(" and ", Counted(empty.size() - 1, "more folder", "more folders"),
                           " have"),
        " no file *.jpg, *.jpeg or *.png, but would be a class: remove the folder, or convert its "
        "images"));
  }

  const std::function<absl::Status()>& check_;
  ImageFolder out_;
};

}  // namespace

absl::StatusOr<ImageFolder> ListImageFolder(const std::string& path,
                                            const std::function<absl::Status()>& check) {
  return FolderListing(path, check).Run();
}

}  // namespace penstock
