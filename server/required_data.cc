#include "server/required_data.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/process/start_thread.h"
#include "base/status.h"
#include "records/dataset/list_shards.h"
#include "records/dataset/manifest.h"
#include "server/log.h"

namespace penstock {
namespace {

absl::StatusOr<Manifest> ReadManifest(const Root& root, const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> file, root.OpenFile(path));
  PENSTOCK_ASSIGN_OR_RETURN(Manifest manifest, Manifest::Read(*file));
  manifest.MoveInto(absl::string_view(path).substr(0, path.rfind('/') + 1));
  return manifest;
}

// As streams do: only a server whose root is "/" serves absolute paths.
absl::string_view PathInRoot(const Root& root, const ShardInfo& shard) {
  absl::string_view path = shard.path;
  if (root.folder() == "/" && absl::StartsWith(path, "/")) path.remove_prefix(1);
  return path;
}

absl::Status CheckShard(const Root& root, const ShardInfo& shard) {
  absl::StatusOr<std::unique_ptr<FileSource>> file = root.OpenFile(PathInRoot(root, shard));
  if (!file.ok()) return file.status();
  if ((*file)->size() == shard.size) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(shard.path, ": has ", (*file)->size(),
                                                    " bytes, the manifest says ", shard.size));
}

}  // namespace

absl::StatusOr<std::string> RequiredManifestPath(absl::string_view name) {
  if (absl::StartsWith(name, "/")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' is absolute; give the path of the manifest beneath --data-root"));
  }
  return ServedManifestPath(name == "." ? "" : name);
}

absl::Status CheckRequiredData(const Root& root, const std::string& path) {
  const absl::StatusOr<Manifest> manifest = ReadManifest(root, path);
  if (!manifest.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the manifest cannot be read: ", manifest.status().message()));
  }
  size_t lacking = 0;
  absl::Status first;
  for (const ShardInfo& shard : manifest->shards()) {
    const absl::Status status = CheckShard(root, shard);
    if (status.ok()) continue;
    if (lacking++ == 0) first = status;
  }
  if (lacking == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, ": lacks ", lacking, " of ",
                                                    manifest->shards().size(), " shards, first ",
                                                    first.message()));
}

absl::StatusOr<std::unique_ptr<RequiredData>> RequiredData::Start(
    const Root& root, std::vector<std::string> manifests, OnLack on_lack, Times times) {
  std::unique_ptr<RequiredData> data(
      new RequiredData(root, std::move(manifests), std::move(on_lack), times));
  PENSTOCK_ASSIGN_OR_RETURN(data->thread_,
                            StartThread("that checks --require", [&data = *data] { data.Run(); }));
  return data;
}

RequiredData::~RequiredData() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

void RequiredData::Run() {
  std::optional<std::string> told;
  std::string lack;
  do {
    lack = Check();
    if (told == lack) continue;
    told = lack;
    if (lack.empty()) {
      LogInfo("required data is complete manifests={}", manifests_.size());
    } else {
      LogWarning("required data is missing, so this server is not ready error={}", Quoted(lack));
    }
    on_lack_(lack);
  } while (Pause(lack.empty() ? times_.while_complete : times_.while_lacking));
}

std::string RequiredData::Check() const {
  for (const std::string& manifest : manifests_) {
    const absl::Status status = CheckRequiredData(root_, manifest);
    if (!status.ok()) return std::string(status.message());
  }
  return "";
}

bool RequiredData::Pause(absl::Duration pause) {
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(pause);
  MutexLock lock(&mutex_);
  while (!stopping_ && changed_.WaitUntil(&mutex_, until)) continue;
  return !stopping_;
}

}  // namespace penstock
