// penstock pack --from folder.
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/io/atomic_file.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/pack/image_records.h"
#include "cli/pack/pack_inputs.h"
#include "cli/pack/pack_output.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "nlohmann/json.hpp"
#include "records/dataset/class_names.h"
#include "records/dataset/image_folder.h"
#include "records/dataset/list_shards.h"

namespace penstock {
namespace {

// Returns "train" for /data/train/; "images" if the folder has no name.
std::string FolderName(const std::string& folder) {
  const std::string name = std::filesystem::path(NormalPath(folder)).filename().string();
  return name.empty() ? "images" : name;
}

std::string ClassesPath(const PackOptions& options) {
  return absl::StrCat(options.shards.folder, "/", kClassNamesFile);
}

absl::Status CheckFolders(const PackOptions& options) {
  if (options.inputs.size() != 1) {
    return UsageError("--from folder needs one input: a folder with a subfolder for each class");
  }
  if (!PathBeneath(options.inputs[0], options.shards.folder).ok()) return absl::OkStatus();
  return UsageError(absl::StrCat("-o ", options.shards.folder, " is inside the input ",
                                 options.inputs[0],
                                 ", where it would become a class; choose another folder"));
}

// Checks the existing class names, with which other shards of the folder may have been packed.
absl::Status CheckClasses(const ImageFolder& images, const PackOptions& options) {
  const std::string path = ClassesPath(options);
  std::error_code ignored;  // A file that is not visible cannot be written either.
  if (options.shards.force || !std::filesystem::exists(path, ignored)) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadClassNames(path));
  if (names == images.classes) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat(path, " has different classes from ", images.path,
                   "; choose another folder with -o, or give --force to replace the file"));
}

absl::StatusOr<ImageFolder> List(const PackOptions& options) {
  Progress progress({.label = "listing", .unit = "files"});
  PENSTOCK_ASSIGN_OR_RETURN(ImageFolder images, ListImageFolder(options.inputs[0], [&] {
                              progress.Add(1);
                              return InterruptGuard::Check();
                            }));
  progress.Finish(absl::StrCat(Counted(images.files.size(), "image", "images"), " in ",
                               Counted(images.classes.size(), "class", "classes")));
  return images;
}

void TellOthers(const ImageFolder& images) {
  if (images.num_others == 0) return;
  PrintEscaped(stderr,
               "penstock: left out %s that %s not *.jpg, *.jpeg or *.png in a class folder; the "
               "first is %s\n",
               Counted(images.num_others, "file", "files"), images.num_others == 1 ? "is" : "are",
               images.first_other);
}

void TellSkipped(const WrittenShards& written, const RecordSource& records) {
  if (written.num_skipped == 0) return;
  for (const SkippedRecord& record : written.skipped) {
    PrintEscaped(stderr, "penstock: skipped %s: %s\n", records.Name(record.index), record.reason);
  }
  const uint64_t more = written.num_skipped - written.skipped.size();
  PrintEscaped(stderr, "penstock: skipped %s of %s%s\n",
               Counted(written.num_skipped, "invalid image", "invalid images"),
               Grouped(records.size()),
               more > 0 ? absl::StrCat("; ", Counted(more, "is", "are"), " not listed") : "");
}

nlohmann::json ToJson(const ImageFolder& images, const WrittenShards& written,
                      const RecordSource& records) {
  nlohmann::json skipped = nlohmann::json::array();
  for (const SkippedRecord& record : written.skipped) {
    skipped.push_back({{"file", records.Name(record.index)}, {"reason", record.reason}});
  }
  return {{"classes", images.classes.size()},
          {"other_files", images.num_others},
          {"skipped", written.num_skipped},
          {"skipped_files", skipped}};
}

}  // namespace

absl::Status PackFolder(PackOptions options) {
  PENSTOCK_RETURN_IF_ERROR(CheckFolders(options));
  PENSTOCK_RETURN_IF_ERROR(PrepareOutput(FolderName(options.inputs[0]), options));
  InterruptGuard interrupts;
  PENSTOCK_ASSIGN_OR_RETURN(const ImageFolder images, List(options));
  TellOthers(images);
  PENSTOCK_RETURN_IF_ERROR(CheckClasses(images, options));
  const ImageRecords records(images, options.shrink, options.shards.skip_invalid);
  PENSTOCK_ASSIGN_OR_RETURN(
      const WrittenShards written, WriteWithProgress(records, options, "images", [&] {
        return WriteFileAtomically(ClassesPath(options), BytesOf(ClassNamesText(images.classes)));
      }));
  TellSkipped(written, records);
  return WriteSummary(written, options, ToJson(images, written, records));
}

}  // namespace penstock
