#include "client/fetch/damage_judge.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

using Verdict = DamageRuling::Verdict;

// After this many damage reports about a window, of which no two agree, the job fails.
constexpr uint32_t kMaxDamageReports = 20;
// How long to wait for another server, which could tell whether the only one is right.
constexpr absl::Duration kSecondOpinionWait = absl::Seconds(5);
// Longest name of a shard, in bytes, that a message takes from a server.
constexpr size_t kLongestName = 256;

bool SameRecord(const Damage& a, const Damage& b) {
  return a.shard == b.shard && a.chunk_offset == b.chunk_offset && a.record == b.record &&
         a.rest_of_chunk == b.rest_of_chunk;
}

}  // namespace

std::string DamageName(const Damage& damage) {
  return absl::StrCat(damage.shard, ": chunk at offset ", damage.chunk_offset, ", record ",
                      damage.record,
                      damage.rest_of_chunk ? " and all later records of the chunk" : "");
}

absl::Status DamageJudge::Check(const WindowEntry& window, const StreamError& error) const {
  if (!error.damage && !error.needs_spare) return absl::OkStatus();
  const bool lost = error.status.code() == absl::StatusCode::kDataLoss;
  if (!lost || (error.damage && error.needs_spare)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sent an invalid error: ", absl::StatusCodeToString(error.status.code()), " with ",
        error.damage ? "`damage`" : "", error.damage && error.needs_spare ? " and " : "",
        error.needs_spare ? "`needs_spare`" : "", "; only DATA_LOSS may have one of the two"));
  }
  return error.damage ? CheckPlace(window, *error.damage) : CheckEmpty(window);
}

// Also accepts a spare that was tried before: a server may still answer for the window as it was
// then.
absl::Status DamageJudge::CheckPlace(const WindowEntry& window, const Damage& damage) const {
  if (find_ == nullptr) return absl::OkStatus();
  const std::optional<ChunkRecords> found = find_(damage);
  bool within = found && damage.record < found->records;
  if (within) {
    const auto chunks = window.order->WindowChunks(window.id);
    within = std::find(chunks.begin(), chunks.end(), found->chunk) != chunks.end();
    for (uint32_t i = 0; i < window.spares && !within; ++i) {
      within = window.order->SpareChunk(window.id, i) == found->chunk;
    }
  }
  if (within) return absl::OkStatus();
  Damage named = damage;
  if (named.shard.size() > kLongestName) named.shard.resize(kLongestName);
  return absl::FailedPreconditionError(
      absl::StrCat("reported damage outside of ", WindowName(window.id), ": ", DamageName(named)));
}

// The claim can be true only if, in each chunk, at least as many records are listed as damaged as
// are in the split. Only servers know which of the chunk's records are in the split.
absl::Status DamageJudge::CheckEmpty(const WindowEntry& window) const {
  if (find_ == nullptr || fallible_rows_) return absl::OkStatus();
  for (const uint32_t chunk : window.order->WindowChunks(window.id)) {
    const uint32_t damaged = NumDamaged(chunk);
    if (damaged >= plan_.chunk_rows(chunk)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("reported no good record in ", WindowName(window.id), ", but only ", damaged,
                     " of ", plan_.chunk_rows(chunk), " records of ",
                     actions_.NameChunks(std::span(&chunk, 1)), " were reported as damaged"));
  }
  return absl::OkStatus();
}

uint32_t DamageJudge::NumDamaged(uint32_t chunk) const {
  const auto listed = chunks_.find(chunk);
  if (listed == chunks_.end()) return 0;
  uint32_t damaged = listed->second.records;
  listed->second.damaged.ForEachGap(0, damaged,
                                    [&](uint32_t, uint32_t sound) { damaged -= sound; });
  return damaged;
}

bool DamageJudge::HasNoGoodRecord(uint32_t chunk) const {
  const auto listed = chunks_.find(chunk);
  return listed != chunks_.end() && listed->second.damaged.Contains(0, listed->second.records);
}

void DamageJudge::List(const Damage& damage) {
  agreed_.push_back(damage);
  const auto found = find_ == nullptr ? std::nullopt : find_(damage);
  if (!found) return;
  ChunkDamage& chunk = chunks_[found->chunk];
  chunk.records = found->records;
  const uint32_t end = damage.rest_of_chunk ? found->records : damage.record + 1;
  for (uint32_t record = damage.record; record < end; ++record) {
    if (!chunk.damaged.Contains(record, 1)) chunk.damaged.Add(record, 1);
  }
}

DamageRuling DamageJudge::Hear(absl::Time now, const ServerEntry& server, WindowEntry& window,
                               const StreamError& error) {
  const Damage& damage = *error.damage;
  if (AwaitsSecondOpinion(now, server, window, damage)) return {Verdict::kAskLater};
  if (++window.damage_reports > kMaxDamageReports) {
    return {Verdict::kFail,
            Annotate(error.status, absl::StrCat(server.address, ": after ", kMaxDamageReports,
                                                " contradicting damage reports"))};
  }
  // The window was opened before that was known.
  if (IsAgreed(damage)) return {Verdict::kAskAgain};
  bool known = false;
  for (const DamageDoubt& doubt : window.doubts) {
    if (!SameRecord(doubt.damage, damage)) continue;
    // The same server was asked again although it is avoided, so no other could be asked.
    if (!servers_.AreOne(doubt.server, server.index) ||
        placement_.NoOtherThan(server, window.id, window.avoid)) {
      return Agree(DamageDoubt(doubt), server, window);
    }
    known = true;
  }
  if (!known) window.doubts.push_back({damage, server.index, error.status, now});
  return {Verdict::kAskAnother};
}

// Whether to wait for a second opinion: the server has reported this damage before, and it is asked
// again only because no other server is up yet.
bool DamageJudge::AwaitsSecondOpinion(absl::Time now, const ServerEntry& server,
                                      const WindowEntry& window, const Damage& damage) const {
  const auto said = [&](const DamageDoubt& doubt) {
    return SameRecord(doubt.damage, damage) && servers_.AreOne(doubt.server, server.index) &&
           now < doubt.since + kSecondOpinionWait;
  };
  return std::any_of(window.doubts.begin(), window.doubts.end(), said) &&
         placement_.NoOtherThan(server, window.id, window.avoid) && servers_.AnotherMayCome(server);
}

DamageRuling DamageJudge::Agree(const DamageDoubt& doubt, const ServerEntry& second,
                                WindowEntry& window) {
  const std::string& first = servers_[doubt.server].address;
  const std::string agree =
      servers_.AreOne(doubt.server, second.index)
          ? absl::StrCat(first, " reported it twice; no other server could be asked")
          : absl::StrCat("reported by ", first, " and ", second.address);
  if (on_error_ == OnError::kFail) {
    return {Verdict::kFail,
            absl::DataLossError(absl::StrCat(
                NameOf(doubt.damage),
                doubt.damage.rest_of_chunk ? " were damaged after they were indexed ("
                                           : " was damaged after it was indexed (",
                agree, "): ", doubt.status.message(), ". Restore the shard, index again with ",
                "--exclude-corrupt, or continue with --on-error replace, which uses ",
                doubt.damage.rest_of_chunk ? "other records instead" : "another record instead"))};
  }
  actions_.Report(
      absl::StrCat("replaced ", NameOf(doubt.damage), " (", agree, "): ", doubt.status.message()));
  List(doubt.damage);
  window.doubts.clear();
  window.damage_reports = 0;
  return {Verdict::kReplaced};
}

std::string DamageJudge::NameOf(const Damage& damage) const {
  return name_ != nullptr ? name_(damage) : DamageName(damage);
}

bool DamageJudge::IsAgreed(const Damage& damage) const {
  return std::any_of(agreed_.begin(), agreed_.end(),
                     [&](const Damage& other) { return SameRecord(other, damage); });
}

// All rows of the window have come, so the server that gave the last ones does not share the
// doubts.
void DamageJudge::ReportDoubts(const WindowEntry& window) const {
  for (const DamageDoubt& doubt : window.doubts) {
    actions_.Report(absl::StrCat(
        servers_[doubt.server].address, " reported ", NameOf(doubt.damage), " as damaged (",
        doubt.status.message(), "), but ",
        window.opened_on ? servers_[window.opened_on->server].address : "another server",
        " served ", doubt.damage.rest_of_chunk ? "them" : "it",
        "; check the disk, memory and mount of ", servers_[doubt.server].address));
  }
}

}  // namespace penstock
