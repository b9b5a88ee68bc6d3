#include "trainer/cuda/device_place.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace penstock {
namespace {

std::string PlaceKey(size_t rank) { return absl::StrCat("device/", rank); }

std::optional<std::pair<size_t, size_t>> FirstPair(std::span<const DevicePlace> places) {
  std::map<std::string, size_t> rank_of;
  for (size_t r = 0; r < places.size(); ++r) {
    const auto [it, is_new] = rank_of.try_emplace(places[r].gpu, r);
    if (!is_new) return std::make_pair(it->second, r);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<DevicePlace>> ShareDevicePlaces(const RankInfo& info, StoreClient& store,
                                                           const DevicePlace& own,
                                                           absl::Duration timeout) {
  PENSTOCK_RETURN_IF_ERROR(
      store.Put(PlaceKey(info.rank), absl::StrJoin({own.host, own.gpu, own.nccl}, "\n")));
  std::vector<DevicePlace> places;
  for (size_t rank = 0; rank < info.world_size; ++rank) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string text, store.Get(PlaceKey(rank), timeout));
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    if (lines.size() != 3)
      return absl::InternalError(absl::StrCat("entry ", PlaceKey(rank), " of rank 0's store is \"",
                                              text, "\", not three lines"));
    places.push_back({lines[0], lines[1], lines[2]});
  }
  return places;
}

bool SharesGpus(std::span<const DevicePlace> places) { return FirstPair(places).has_value(); }

absl::Status CheckForNccl(std::span<const DevicePlace> places) {
  if (const auto pair = FirstPair(places); pair.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ranks ", pair->first, " and ", pair->second, " both have ", places[pair->first].gpu,
        " on ", places[pair->first].host,
        ": give each rank a GPU of its own (penstock launch --gpus, CUDA_VISIBLE_DEVICES), or "
        "have them share it with --allow-shared-gpu, which is slower"));
  }
  for (size_t r = 1; r < places.size(); ++r) {
    if (places[r].nccl == places[0].nccl) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("NCCL is ", places[0].nccl, " on rank 0 and ", places[r].nccl, " on rank ", r,
                     " (", places[r].host, "): install the same version on all hosts"));
  }
  return absl::OkStatus();
}

}  // namespace penstock
