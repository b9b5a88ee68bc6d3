// Records that servers called damaged, and whether the servers are believed.
#ifndef PENSTOCK_CLIENT_FETCH_DAMAGE_JUDGE_H_
#define PENSTOCK_CLIENT_FETCH_DAMAGE_JUDGE_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/lane_map.h"
#include "client/fetch/on_error.h"
#include "client/fetch/scheduler_actions.h"
#include "client/fetch/server_table.h"
#include "client/fetch/window_table.h"

namespace penstock {

// The fate of a window after a server called one of its records damaged.
struct DamageRuling {
  enum class Verdict : uint8_t {
    kAskAgain,    // The server did not know yet what servers agreed on.
    kAskLater,    // Another server may soon be there, whose word is waited for.
    kAskAnother,  // One server alone is not believed.
    kReplaced,    // Servers agree: another record takes its place.
    kFail,        // The job ends with `failure`.
  };
  Verdict verdict;
  absl::Status failure = absl::OkStatus();
};

// "a.tfrecord: chunk at offset 65536, record 3": the record's number in the chunk, from 0 on.
std::string DamageName(const Damage& damage);

// No server is believed alone, at however many addresses: a record is damaged once two agree, or
// the only one says so twice. The judge hears each report and rules. It keeps its own notes in
// WindowEntry::doubts and damage_reports, and changes nothing else of a window. Not thread-safe.
class DamageJudge {
 public:
  // Null: DamageName().
  using Name = std::function<std::string(const Damage&)>;

  // `servers`, `placement` and `actions` must outlive it.
  DamageJudge(const ServerTable& servers, const LaneMap& placement, SchedulerActions& actions,
              OnError on_error, Name name)
      : servers_(servers),
        placement_(placement),
        actions_(actions),
        on_error_(on_error),
        name_(std::move(name)) {}

  // REQUIRES: error.damage.
  DamageRuling Hear(absl::Time now, const ServerEntry& server, WindowEntry& window,
                    const StreamError& error);
  // All rows of the window have come, so whoever gave the last ones did not share its doubts.
  void ReportDoubts(const WindowEntry& window) const;
  // Records that another one stands for, in the order in which servers agreed on them.
  std::span<const Damage> agreed() const { return agreed_; }

 private:
  bool AwaitsSecondOpinion(absl::Time now, const ServerEntry& server, const WindowEntry& window,
                           const Damage& damage) const;
  DamageRuling Agree(const DamageDoubt& doubt, const ServerEntry& second, WindowEntry& window);
  std::string NameOf(const Damage& damage) const;
  bool IsAgreed(const Damage& damage) const;

  const ServerTable& servers_;
  const LaneMap& placement_;
  SchedulerActions& actions_;
  const OnError on_error_;
  const Name name_;
  std::vector<Damage> agreed_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_DAMAGE_JUDGE_H_
