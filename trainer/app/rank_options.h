// The options of penstock-train about the ranks of a training.
#ifndef PENSTOCK_TRAINER_APP_RANK_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_RANK_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "trainer/app/late_report.h"
#include "trainer/comm/half.h"
#include "trainer/comm/rank_group.h"
#include "trainer/comm/rank_info.h"

namespace CLI {
class App;
}

namespace penstock {

struct RankFlags {
  RankOptions ranks;
  std::string rendezvous_timeout = "2m";
  std::string interface;
  std::string collective_timeout = "10m";
  std::string late_after = "60s";
  std::string reduction = "deterministic";
  std::string compression = "none";
  std::string bucket_size = "4MiB";
  std::string shard_by = "rank";
  std::string lr_scaling = "none";
  bool divide_steps = false;

  // kInvalidArgument: the message names the option.
  absl::Status Validate() const;
  bool fast() const { return reduction == "fast"; }
  bool by_local_rank() const { return shard_by == "local-rank"; }
  WireFloat wire() const;
  size_t bucket_floats() const;  // REQUIRES: Validate() passed.
  // The factor that --lr is multiplied by.
  double LearningRateFactor(uint32_t world_size) const;
  // Returns a warning if the learning rate is scaled up from the first step on; otherwise an empty
  // string.
  std::string WarmUpWarning(uint32_t world_size, uint64_t warmup_steps) const;
};

// `flags` must outlive `app`. Sets the group of the options that are added next.
void AddRankOptions(CLI::App& app, RankFlags& flags);

// The prefix of a rank's lines on stderr: "rank 2: ", or nothing if there is only one rank.
std::string RankMark(const RankInfo& info);

// `late` reports late ranks and must outlive the group. REQUIRES: Validate() passed.
RankGroupOptions ToGroupOptions(const RankFlags& flags, const LateReport& late);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RANK_OPTIONS_H_
