#include "trainer/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "records/base/status.h"
#include "records/io/atomic_file.h"

namespace penstock {

namespace {

constexpr char kBest[] = "best.ckpt";

bool IsStep(absl::string_view name) {
  return absl::StartsWith(name, "step-") && absl::EndsWith(name, ".ckpt");
}

// Files that a process was writing when it was killed.
void RemoveUnfinished(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = UnfinishedFileName(it->path().filename().string());
    std::error_code ignored;
    if (IsStep(name) || name == kBest) std::filesystem::remove(it->path(), ignored);
  }
}

// What is left, and what to do. A file in `folder` is whole.
absl::Status WithCure(const absl::Status& failed, const CheckpointFolder& folder) {
  if (failed.ok()) return failed;
  const absl::StatusOr<std::vector<std::string>> paths = folder.List();
  std::string cure = "no earlier checkpoint is there";
  if (paths.ok() && !paths->empty()) {
    cure = absl::StrCat(paths->back(), " is whole, --resume auto goes on from it");
  }
  if (absl::IsResourceExhausted(failed)) {
    absl::StrAppend(&cure,
                    "; make room there, or raise the limit of a file (ulimit -f) or a quota");
  }
  return {failed.code(), absl::StrCat(failed.message(), "; ", cure)};
}

}  // namespace

absl::StatusOr<CheckpointFolder> CheckpointFolder::Open(std::string folder, size_t keep) {
  if (keep == 0) return absl::InvalidArgumentError("at least one checkpoint must be kept");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("making the folder ", folder));
  RemoveUnfinished(folder);
  PENSTOCK_RETURN_IF_ERROR(AtomicFile::Create(absl::StrCat(folder, "/", kBest)).status());
  return CheckpointFolder(std::move(folder), keep);
}

absl::StatusOr<std::vector<std::string>> CheckpointFolder::List() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error)) {
    if (IsStep(it->path().filename().string())) paths.push_back(it->path().string());
  }
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("listing the folder ", folder_));
  std::sort(paths.begin(), paths.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;  // Steps beyond nine digits.
  });
  return paths;
}

std::string CheckpointFolder::best_path() const { return absl::StrCat(folder_, "/", kBest); }

absl::Status CheckpointFolder::SaveBest(const CheckpointInfo& info, const ParameterTable& table,
                                        const TrainState& state) const {
  return WithCure(SaveCheckpoint(best_path(), info, table, state), *this);
}

absl::Status CheckpointFolder::Save(const CheckpointInfo& info, const ParameterTable& table,
                                    const TrainState& state) const {
  const std::string path = absl::StrFormat("%s/step-%09d.ckpt", folder_, info.step);
  PENSTOCK_RETURN_IF_ERROR(WithCure(SaveCheckpoint(path, info, table, state), *this));
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, List());
  // Steps beyond this one belong to a run that was given up; they count, but this one stays.
  for (size_t i = 0; i + keep_ < paths.size(); ++i) {
    if (paths[i] == path) continue;
    std::error_code error;
    std::filesystem::remove(paths[i], error);
    if (error) return ErrnoToStatus(error.value(), absl::StrCat("removing ", paths[i]));
  }
  return absl::OkStatus();
}

}  // namespace penstock
