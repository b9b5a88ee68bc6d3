// Judges reports of damaged records: decides which servers are believed.
#ifndef PENSTOCK_CLIENT_FETCH_DAMAGE_JUDGE_H_
#define PENSTOCK_CLIENT_FETCH_DAMAGE_JUDGE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/fetch/fetch_actions.h"
#include "client/fetch/lane_map.h"
#include "client/fetch/on_error.h"
#include "client/fetch/received_rows.h"
#include "client/fetch/server_table.h"
#include "client/fetch/window_table.h"
#include "client/plan/plan.h"

namespace penstock {

// The ruling on a window after a server called one of its records damaged.
struct DamageRuling {
  enum class Verdict : uint8_t {
    kAskAgain,    // Ask again: the server did not know which damage servers agreed on.
    kAskLater,    // Ask later: another server may soon be up and give its opinion.
    kAskAnother,  // Ask another server: one server alone is not believed.
    kReplaced,    // Servers agree: another record replaces it.
    kFail,        // The job ends with `failure`.
  };
  Verdict verdict;
  absl::Status failure = absl::OkStatus();
};

// A chunk of the manifest.
struct ChunkRecords {
  uint32_t chunk = 0;
  uint32_t records = 0;  // Number of records, summed over all splits.
};

// Returns "a.tfrecord: chunk at offset 65536, record 3". The record's number in the chunk counts
// from 0.
std::string DamageName(const Damage& damage);

// No single server is believed, whatever its number of addresses. A record is damaged once two
// servers agree, or once the only server says so twice.
//
// The judge hears each report and rules. It keeps its own notes in WindowEntry::doubts and
// damage_reports, and changes nothing else of a window. A report that cannot be true is the
// server's fault, and is ignored. Not thread-safe.
class DamageJudge {
 public:
  // May be null; then DamageName() names damage.
  using Name = std::function<std::string(const Damage&)>;
  // Returns the chunk that the damage is in, or nothing if the manifest has no chunk there. May be
  // null; then nothing is known of chunks, and every report may be true.
  using Find = std::function<std::optional<ChunkRecords>(const Damage&)>;

  // `plan`, `servers`, `placement` and `actions` must outlive it.
  DamageJudge(const Plan& plan, const ServerTable& servers, const LaneMap& placement,
              FetchActions& actions, OnError on_error, bool fallible_rows, Name name, Find find)
      : plan_(plan),
        servers_(servers),
        placement_(placement),
        actions_(actions),
        on_error_(on_error),
        fallible_rows_(fallible_rows),
        name_(std::move(name)),
        find_(std::move(find)) {}

  // kFailedPrecondition: the error claims what cannot be true. It reports damage outside the
  // window, or a window without a good record although nobody found damage and all rows can be
  // decoded, or either of these with a code other than kDataLoss.
  absl::Status Check(const WindowEntry& window, const StreamError& error) const;
  // REQUIRES: error.damage, and Check() is OK.
  DamageRuling Hear(absl::Time now, const ServerEntry& server, WindowEntry& window,
                    const StreamError& error);
  // Reports the doubts about the window. Call this when all of its rows have come: the server that
  // gave the last ones does not share the doubts.
  void ReportDoubts(const WindowEntry& window) const;
  // Whether servers agreed that every record of the chunk is damaged.
  bool HasNoGoodRecord(uint32_t chunk) const;
  // The records that others replace, in the order in which servers agreed on them.
  std::span<const Damage> agreed() const { return agreed_; }

 private:
  // The records of one chunk that servers agreed are damaged.
  struct ChunkDamage {
    uint32_t records = 0;  // Number of records in the chunk.
    ReceivedRows damaged;
  };

  absl::Status CheckPlace(const WindowEntry& window, const Damage& damage) const;
  absl::Status CheckEmpty(const WindowEntry& window) const;
  uint32_t NumDamaged(uint32_t chunk) const;
  void List(const Damage& damage);
  bool AwaitsSecondOpinion(absl::Time now, const ServerEntry& server, const WindowEntry& window,
                           const Damage& damage) const;
  DamageRuling Agree(const DamageDoubt& doubt, const ServerEntry& second, WindowEntry& window);
  std::string NameOf(const Damage& damage) const;
  bool IsAgreed(const Damage& damage) const;

  const Plan& plan_;
  const ServerTable& servers_;
  const LaneMap& placement_;
  FetchActions& actions_;
  const OnError on_error_;
  const bool fallible_rows_;
  const Name name_;
  const Find find_;
  std::vector<Damage> agreed_;
  // The damage in agreed_, keyed by chunk number in the manifest.
  std::map<uint32_t, ChunkDamage> chunks_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FETCH_DAMAGE_JUDGE_H_
