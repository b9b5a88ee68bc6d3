#include "client/plan/epoch_order.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/counter_rng.h"

namespace penstock {
namespace {

// Numbers of keys derived from the epoch's key. Lanes have the numbers from 0 on.
constexpr uint64_t kChunkPermutation = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kAugmentation = kChunkPermutation - 1;

Rounds MakeRounds(const Windows& windows, const PlanOptions& options) {
  std::vector<uint64_t> lane_rows;
  for (uint32_t lane = 0; lane < windows.num_lanes(); ++lane) {
    lane_rows.push_back(windows.lane_rows(lane));
  }
  // The strips of a single lane follow one another. Treat them as one strip, so that a run ends
  // only at the end of a window.
  const uint64_t strip = lane_rows.size() == 1 ? lane_rows[0] : options.strip_rows;
  return Rounds(std::move(lane_rows), strip);
}

}  // namespace

uint64_t AugmentationKeyOf(uint64_t seed, uint64_t epoch) {
  return DeriveKey(DeriveKey(seed, epoch), kAugmentation);
}

EpochOrder::EpochOrder(const ChunkTable& table, const PlanOptions& options, uint64_t epoch)
    : epoch_(epoch),
      key_(DeriveKey(options.seed, epoch)),
      windows_(CutWindows(table, options, DeriveKey(key_, kChunkPermutation))),
      rounds_(MakeRounds(windows_, options)) {}

uint32_t EpochOrder::num_windows(uint32_t lane) const {
  return windows_.first_of_lane[lane + 1] - windows_.first_of_lane[lane];
}

std::span<const uint32_t> EpochOrder::WindowChunks(WindowId id) const {
  const uint32_t* first = &windows_.first_chunk[Number(id)];
  return std::span(windows_.chunks).subspan(first[0], first[1] - first[0]);
}

std::optional<uint32_t> EpochOrder::SpareChunk(WindowId id, uint32_t n) const {
  const uint32_t* first = &windows_.first_chunk[Number(id)];
  const size_t chunks = windows_.chunks.size();
  if (n >= chunks - (first[1] - first[0])) return std::nullopt;
  return windows_.chunks[(size_t{first[1]} + n) % chunks];
}

uint32_t EpochOrder::WindowRows(WindowId id) const {
  const uint64_t* first = &windows_.first_row[Number(id)];
  return static_cast<uint32_t>(first[1] - first[0]);
}

uint64_t EpochOrder::WindowKey(WindowId id) const {
  return DeriveKey(DeriveKey(key_, id.lane), id.index);
}

uint64_t EpochOrder::augmentation_key() const { return DeriveKey(key_, kAugmentation); }

uint32_t EpochOrder::WindowOf(Rounds::LaneRow at) const {
  const auto first = windows_.first_row.begin();
  const auto after = std::upper_bound(first + windows_.first_of_lane[at.lane],
                                      first + windows_.first_of_lane[at.lane + 1],
                                      windows_.lane_begin(at.lane) + at.row);
  return static_cast<uint32_t>(after - first - 1);
}

Location EpochOrder::Locate(uint64_t position) const {
  const Rounds::LaneRow at = rounds_.Locate(position);
  const uint32_t number = WindowOf(at);
  const uint64_t row = windows_.lane_begin(at.lane) + at.row - windows_.first_row[number];
  return {{epoch_, at.lane, number - windows_.first_of_lane[at.lane]}, static_cast<uint32_t>(row)};
}

uint64_t EpochOrder::Position(Location at) const {
  const uint32_t lane = at.window.lane;
  const uint64_t begin = windows_.first_row[Number(at.window)] - windows_.lane_begin(lane);
  return rounds_.Position({lane, begin + at.row});
}

}  // namespace penstock
