#include "trainer/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/io/atomic_file.h"
#include "base/status.h"

namespace penstock {

namespace {

constexpr char kBest[] = "best.ckpt";

std::string NameOf(uint64_t step) { return absl::StrFormat("step-%09d.ckpt", step); }

// The lock lasts as long as the descriptor is open, so a killed process cannot leave it behind.
absl::StatusOr<UniqueFd> Lock(const std::string& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoToStatus(errno, folder);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return UniqueFd();
  return absl::FailedPreconditionError(
      absl::StrCat(folder,
                   ": another penstock-train saves its checkpoints there; wait until it "
                   "has ended, or give each training a --checkpoint-dir of its own"));
}

// Removes files that a process was writing when it was killed.
void RemoveUnfinished(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = UnfinishedFileName(it->path().filename().string());
    std::error_code ignored;
    if (StepOfFile(name).has_value() || name == kBest) std::filesystem::remove(it->path(), ignored);
  }
}

// Says what to do if nothing can be written in `folder`.
std::string WriteCure(const std::string& folder) {
  return absl::StrCat(
      "; the folder ", folder,
      " is not writable: give this user write permission, or give another --checkpoint-dir");
}

// Adds to `failed` the newest intact checkpoint up to `step`, and what to do. Later files could not
// be read when this run began; the others in `folder` are intact.
absl::Status WithCure(const absl::Status& failed, const CheckpointFolder& folder, uint64_t step) {
  if (failed.ok()) return failed;
  const absl::StatusOr<std::vector<std::string>> paths = folder.List();
  if (absl::IsNotFound(paths.status())) {
    return {failed.code(),
            absl::StrCat(failed.message(), "; the folder ", folder.folder(),
                         " no longer exists, and neither do its checkpoints; step ", step,
                         " is not saved. Mount or create the folder again, or give another "
                         "--checkpoint-dir, and start again")};
  }
  std::string cure = "there is no earlier checkpoint to resume from";
  for (size_t i = 0; paths.ok() && i < paths->size() && StepOfFile((*paths)[i]) <= step; ++i) {
    cure = absl::StrCat((*paths)[i], " is intact, and --resume auto continues from it");
  }
  if (absl::IsResourceExhausted(failed)) {
    absl::StrAppend(
        &cure, "; free space in the folder, or raise the file size limit (ulimit -f) or the quota");
  }
  if (absl::IsPermissionDenied(failed)) absl::StrAppend(&cure, WriteCure(folder.folder()));
  return {failed.code(), absl::StrCat(failed.message(), "; ", cure)};
}

}  // namespace

std::optional<uint64_t> StepOfFile(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  absl::string_view digits = name;
  uint64_t step = 0;
  if (!absl::ConsumePrefix(&digits, "step-") || !absl::ConsumeSuffix(&digits, ".ckpt") ||
      !absl::SimpleAtoi(digits, &step) || name != NameOf(step)) {
    return std::nullopt;
  }
  return step;
}

absl::StatusOr<CheckpointFolder> CheckpointFolder::Open(std::string folder, size_t keep) {
  if (keep == 0) return absl::InvalidArgumentError("--keep-checkpoints must be positive");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Annotate(ErrnoToStatus(error.value(), absl::StrCat("making the folder ", folder)),
                    "--checkpoint-dir");
  }
  PENSTOCK_ASSIGN_OR_RETURN(UniqueFd lock, Lock(folder));
  RemoveUnfinished(folder);
  const absl::Status tried = AtomicFile::Create(absl::StrCat(folder, "/", kBest)).status();
  if (absl::IsPermissionDenied(tried)) {
    return absl::Status(tried.code(),
                        absl::StrCat("--checkpoint-dir: ", tried.message(), WriteCure(folder)));
  }
  PENSTOCK_RETURN_IF_ERROR(tried);
  return CheckpointFolder(std::move(folder), keep, std::move(lock));
}

absl::StatusOr<std::vector<std::string>> CheckpointFolder::List() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error)) {
    if (StepOfFile(it->path().string()).has_value()) paths.push_back(it->path().string());
  }
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("listing the folder ", folder_));
  std::sort(paths.begin(), paths.end(), [](const std::string& a, const std::string& b) {
    return StepOfFile(a) < StepOfFile(b);  // Steps may have more than nine digits.
  });
  return paths;
}

std::string CheckpointFolder::best_path() const { return absl::StrCat(folder_, "/", kBest); }

absl::Status CheckpointFolder::SaveBest(const CheckpointInfo& info, const ParameterTable& table,
                                        const TrainState& state) const {
  const absl::StatusOr<std::vector<std::string>> paths = List();
  PENSTOCK_RETURN_IF_ERROR(WithCure(paths.status(), *this, info.step));
  if (paths->empty()) PENSTOCK_RETURN_IF_ERROR(Save(info, table, state));
  if (BetterThan(info).has_value()) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(
      WithCure(SaveCheckpoint(best_path(), info, table, state), *this, info.step));
  best_ = info;
  return absl::OkStatus();
}

const absl::StatusOr<CheckpointInfo>& CheckpointFolder::Best() const {
  if (!best_.has_value()) {
    absl::StatusOr<Checkpoint> kept = LoadCheckpoint(best_path());
    best_ = kept.ok() ? std::move(kept->info) : absl::StatusOr<CheckpointInfo>(kept.status());
  }
  return *best_;
}

std::optional<BestEvaluation> CheckpointFolder::BetterThan(const CheckpointInfo& info) const {
  const absl::StatusOr<CheckpointInfo>& kept = Best();
  if (!kept.ok() || !kept->best.has_value()) return std::nullopt;
  if (kept->targets != info.targets || !(kept->model == info.model)) return std::nullopt;
  const bool better = !info.best.has_value() || kept->best->loss < info.best->loss;
  return better ? kept->best : std::nullopt;
}

absl::Status CheckpointFolder::Save(const CheckpointInfo& info, const ParameterTable& table,
                                    const TrainState& state) const {
  const std::string path = absl::StrCat(folder_, "/", NameOf(info.step));
  absl::Status saved = SaveCheckpoint(path, info, table, state);
  if (saved.ok()) saved = RemoveOlder(path);
  return WithCure(saved, *this, info.step);
}

absl::Status CheckpointFolder::RemoveOlder(const std::string& path) const {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths, List());
  // Files of later steps belong to an abandoned run. They count toward keep_, but `path` always
  // stays.
  for (size_t i = 0; i + keep_ < paths.size(); ++i) {
    if (paths[i] == path) continue;
    std::error_code error;
    std::filesystem::remove(paths[i], error);
    if (error) return ErrnoToStatus(error.value(), absl::StrCat("removing ", paths[i]));
  }
  return absl::OkStatus();
}

}  // namespace penstock
