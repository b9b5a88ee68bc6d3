#include "client/fetch/sim/fleet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock::sim {
namespace {

// Bytes of a message's frames and headers, in addition to its rows.
constexpr uint64_t kMessageBytes = 64;

}  // namespace

Fleet::Fleet(const FleetModel& model)
    : model_(model),
      network_(queue_, model.link, DeriveKey(model.seed, 1)),
      touched_(model.servers.size(), absl::UnixEpoch()) {
  for (uint32_t i = 0; i < model.servers.size(); ++i) {
    servers_.push_back(
        std::make_unique<SimServer>(i, model.servers[i], queue_, *this, DeriveKey(model.seed, 2)));
    servers_[i]->Start();
    index_[Address(i)] = i;
  }
}

std::string Fleet::Address(uint32_t server) {
  return absl::StrCat("10.0.", server >> 8, ".", server & 255, ":7070");
}

SimRank& Fleet::AddRank(const Plan& plan, const Steps& steps, const RankOptions& options) {
  ranks_.push_back(std::make_unique<SimRank>(num_ranks(), plan, steps, options, queue_, *this,
                                             DeriveKey(model_.seed, 3)));
  return *ranks_.back();
}

void Fleet::Run(absl::Time until, uint64_t max_events) {
  for (auto& rank : ranks_) rank->Start();
  if (model_.patience < absl::InfiniteDuration()) Watch();
  while (violation_.empty() && !AllEnded() && queue_.now() < until) {
    if (queue_.executed() > max_events) return Violate("more events than such a run can need");
    if (!queue_.Step()) return Violate("nothing more happens");
  }
}

bool Fleet::AllEnded() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->ended(); });
}

void Fleet::Watch() {
  for (uint32_t i = 0; i < num_ranks(); ++i) WatchRank(i);
  queue_.After(absl::Seconds(1), [this] { Watch(); });
}

void Fleet::WatchRank(uint32_t index) {
  const std::optional<absl::Time> starving = ranks_[index]->starving_since();
  if (!starving) return;
  const absl::Duration starved = std::min(queue_.now() - *starving, HealthyFor(index));
  if (starved <= model_.patience) return;
  Violate(absl::StrCat("rank ", index, " has starved for ", absl::FormatDuration(starved),
                       " though a server was healthy"));
}

absl::Duration Fleet::HealthyFor(uint32_t rank) const {
  absl::Duration longest;
  for (const std::string& address : ranks_[rank]->addresses()) {
    const uint32_t server = ServerAt(address);
    if (!servers_[server]->healthy() || network_.IsCut(rank, server)) continue;
    longest = std::max(longest, queue_.now() - touched_[server]);
  }
  return longest;
}

void Fleet::Change(uint32_t server, const std::string& what, const std::function<void()>& change) {
  if (logs()) Log(absl::StrCat("server ", server, ": ", what));
  change();
  touched_[server] = queue_.now();
}

void Fleet::Ask(const std::shared_ptr<Session>& session, std::function<void(SimServer&)> ask) {
  network_.Send(*session, Direction::kToServer, kMessageBytes,
                [this, server = session->server, ask = std::move(ask)] { ask(*servers_[server]); });
}

void Fleet::Tell(const std::shared_ptr<Session>& session, Message message) {
  uint64_t bytes = kMessageBytes;
  if (const auto* part = std::get_if<SaysPart>(&message)) bytes += part->bytes;
  network_.Send(*session, Direction::kToClient, bytes,
                [this, session, message = std::move(message)]() mutable {
                  ranks_[session->rank]->Receive(session, std::move(message));
                });
}

void Fleet::Violate(const std::string& what) {
  if (!violation_.empty()) return;
  violation_ =
      absl::StrCat("at ", absl::FormatDuration(queue_.now() - absl::UnixEpoch()), ": ", what);
  if (logs()) Log(absl::StrCat("VIOLATION: ", what));
}

void Fleet::Log(const std::string& line) {
  const double seconds = absl::ToDoubleSeconds(queue_.now() - absl::UnixEpoch());
  if (logs()) model_.log(absl::StrFormat("%11.6f %s", seconds, line));
}

}  // namespace penstock::sim
