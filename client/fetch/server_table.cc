#include "client/fetch/server_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

uint64_t KeyOf(absl::Time time) {
  return static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixNanos(time), 0));
}

}  // namespace

ServerTable::ServerTable(const std::vector<std::string>& addresses, uint64_t seed) : rng_(seed) {
  for (const std::string& address : addresses) Add(address);
}

uint32_t ServerTable::Add(const std::string& address) {
  const auto [known, is_new] = index_.try_emplace(address, static_cast<uint32_t>(servers_.size()));
  if (is_new) {
    servers_.emplace_back().address = address;
    servers_.back().index = known->second;
    ++counts_[static_cast<size_t>(ServerState::kBackoff)];
  }
  ServerEntry& server = servers_[known->second];
  if (std::exchange(server.removed, false) && server.state == ServerState::kRemoved) {
    SetState(server, ServerState::kBackoff);
    server.retry_at = absl::InfinitePast();
  }
  return known->second;
}

void ServerTable::SetState(ServerEntry& server, ServerState state) {
  --counts_[static_cast<size_t>(server.state)];
  server.state = state;
  ++counts_[static_cast<size_t>(state)];
  CountUsable(server);
}

void ServerTable::CountUsable(ServerEntry& server) {
  const bool answers = server.state == ServerState::kUp || server.state == ServerState::kDraining;
  const bool usable = answers && (server.productive || server.barren == 0);
  num_usable_ += usable;
  num_usable_ -= std::exchange(server.counts, usable);
}

void ServerTable::MarkProductive(ServerEntry& server) {
  server.productive = true;
  server.newcomer = false;
  server.barren = server.failures = 0;
  server.starved_since = absl::InfiniteFuture();
  server.last_error = absl::OkStatus();
  server.backoff = absl::ZeroDuration();
  CountUsable(server);
}

void ServerTable::MarkBarren(ServerEntry& server) {
  ++server.barren;
  CountUsable(server);
}

bool ServerTable::AllRefused() const {
  const size_t in_set = servers_.size() - Count(ServerState::kRemoved);
  return in_set > 0 && Count(ServerState::kRefused) == in_set;
}

bool ServerTable::AnyRefusedFor(Refusal refusal) const {
  return std::any_of(servers_.begin(), servers_.end(), [&](const ServerEntry& server) {
    return server.state == ServerState::kRefused && server.refusal == refusal;
  });
}

absl::Status ServerTable::FirstRefusal() const {
  for (const ServerEntry& server : servers_) {
    if (server.state == ServerState::kRefused) return server.last_error;
  }
  return absl::OkStatus();
}

ServerEntry* ServerTable::Find(StreamId stream) {
  if (stream.server >= servers_.size()) return nullptr;
  ServerEntry& server = servers_[stream.server];
  return server.generation == stream.generation && server.has_stream() ? &server : nullptr;
}

bool ServerTable::AreOne(size_t i, size_t j) const {
  const uint64_t instance = servers_[i].info.instance;
  return i == j || (instance != 0 && instance == servers_[j].info.instance);
}

void ServerTable::BackOff(ServerEntry& server, absl::Time now, absl::Status reason) {
  const bool was_up = server.state == ServerState::kUp || server.state == ServerState::kDraining;
  server.barren += was_up && !server.productive;
  SetState(server, ServerState::kBackoff);
  server.settled = true;
  server.last_error = std::move(reason);
  server.backoff = std::clamp(2 * server.backoff, kFirstBackoff, kMaxBackoff);
  server.retry_at = now + server.backoff * (0.75 + 0.5 * rng_.Uniform());
  ++server.counted.backoffs;
}

void ServerTable::Refuse(ServerEntry& server, absl::Time now, absl::Duration longest) {
  SetState(server, ServerState::kRefused);
  server.refused_wait = std::min(std::max(2 * server.refused_wait, kFirstRefusedWait), longest);
  server.retry_at = now + server.refused_wait * (0.75 + 0.5 * rng_.Uniform());
  Arm(server, server.retry_at);
}

bool ServerTable::AcceptHello(ServerEntry& server, const ServerInfo& info) {
  server.settled = true;
  if (!decoder_) decoder_ = Decoder{server.address, info.decoder_version, info.spec_fingerprint};
  if (decoder_->version != info.decoder_version || decoder_->fingerprint != info.spec_fingerprint) {
    server.last_error = absl::FailedPreconditionError(
        absl::StrCat("decodes differently from ", decoder_->address,
                     decoder_->version == info.decoder_version
                         ? std::string(" (other spec fingerprint)")
                         : absl::StrCat(" (decoder version ", info.decoder_version, ", not ",
                                        decoder_->version, ")"),
                     ": run the same release on every server"));
    return false;
  }
  // This is a new process, not the one that was slow or died.
  if (server.known && server.info.instance != info.instance) {
    server.penalty = absl::ZeroDuration();
    server.slow = server.told_slow = false;
    server.tell_slow_at = absl::InfiniteFuture();
    server.nonsense = 0;
    server.refused_wait = absl::ZeroDuration();
  }
  server.known = true;
  server.info = info;
  server.productive = false;
  SetState(server, ServerState::kUp);
  return true;
}

void ServerTable::Arm(ServerEntry& server, absl::Time time) {
  if (time == absl::InfiniteFuture()) return;
  if (server.queued.heap != nullptr && timers_.key(server) <= KeyOf(time)) return;
  IndexedHeap<ServerEntry>::Leave(server);
  timers_.Push(KeyOf(time), server);
}

ServerEntry* ServerTable::TakeDue(absl::Time now) {
  if (timers_.empty() || timers_.front_key() > KeyOf(now)) return nullptr;
  ServerEntry& server = timers_.front();
  IndexedHeap<ServerEntry>::Leave(server);
  return &server;
}

absl::Time ServerTable::NextDue() const {
  if (timers_.empty()) return absl::InfiniteFuture();
  return absl::FromUnixNanos(static_cast<int64_t>(timers_.front_key()));
}

bool ServerTable::AnotherMayCome(const ServerEntry& server) const {
  return std::any_of(servers_.begin(), servers_.end(), [&](const ServerEntry& other) {
    const bool coming = other.state == ServerState::kConnecting ||
                        other.state == ServerState::kBackoff ||
                        (other.state == ServerState::kUp && other.slow);
    return coming && !other.removed && !AreOne(other.index, server.index);
  });
}

bool ServerTable::AllSettled() const {
  return std::all_of(servers_.begin(), servers_.end(),
                     [](const ServerEntry& server) { return server.settled || server.removed; });
}

std::string ServerTable::Reason(const ServerEntry& server) {
  const std::string reason =
      server.last_error.ok() ? "no answer yet" : std::string(server.last_error.message());
  // A transport's messages may begin with the address already.
  const bool named = reason.rfind(server.address, 0) == 0;
  return named ? reason : absl::StrCat(server.shown_address(), ": ", reason);
}

std::string ServerTable::Reasons() const {
  std::string reasons;
  for (const ServerEntry& server : servers_) {
    if (server.removed) continue;
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", Reason(server));
  }
  return reasons.empty() ? "the set of servers is empty" : reasons;
}

}  // namespace penstock
