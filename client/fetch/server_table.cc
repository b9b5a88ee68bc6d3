#include "client/fetch/server_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

ServerTable::ServerTable(const std::vector<std::string>& addresses, uint64_t seed) : rng_(seed) {
  for (const std::string& address : addresses) Add(address);
}

uint32_t ServerTable::Add(const std::string& address) {
  const auto [known, is_new] = index_.try_emplace(address, static_cast<uint32_t>(servers_.size()));
  if (is_new) servers_.emplace_back().address = address;
  ServerEntry& server = servers_[known->second];
  if (std::exchange(server.removed, false) && server.state == ServerState::kRemoved) {
    server.state = ServerState::kBackoff;
    server.retry_at = absl::InfinitePast();
  }
  return known->second;
}

bool ServerTable::AllRefused() const {
  const size_t in_set = servers_.size() - Count(ServerState::kRemoved);
  return in_set > 0 && Count(ServerState::kRefused) == in_set;
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

void ServerTable::BackOff(ServerEntry& server, absl::Time now, absl::Status reason) {
  server.state = ServerState::kBackoff;
  server.settled = true;
  server.last_error = std::move(reason);
  server.backoff = std::clamp(2 * server.backoff, kFirstBackoff, kMaxBackoff);
  server.retry_at = now + server.backoff * (0.75 + 0.5 * rng_.Uniform());
}

bool ServerTable::AcceptHello(ServerEntry& server, absl::Time now, const ServerInfo& info) {
  server.settled = true;
  if (!decoder_) decoder_ = Decoder{server.address, info.decoder_version, info.spec_fingerprint};
  if (decoder_->version != info.decoder_version || decoder_->fingerprint != info.spec_fingerprint) {
    server.state = ServerState::kRefused;
    server.last_error = absl::FailedPreconditionError(absl::StrCat(
        "decodes differently from ", decoder_->address, " (decoder version ", info.decoder_version,
        ", not ", decoder_->version, "): run the same release on every server"));
    return false;
  }
  server.state = ServerState::kUp;
  server.known = true;
  server.info = info;
  server.up_at = now;
  server.productive = false;
  return true;
}

size_t ServerTable::Count(ServerState state) const {
  return static_cast<size_t>(
      std::count_if(servers_.begin(), servers_.end(),
                    [state](const ServerEntry& server) { return server.state == state; }));
}

bool ServerTable::AnySteady(absl::Time now) const {
  return std::any_of(servers_.begin(), servers_.end(), [now](const ServerEntry& server) {
    return server.state == ServerState::kUp && (server.productive || now >= server.up_at + kSteady);
  });
}

bool ServerTable::AllSettled() const {
  return std::all_of(servers_.begin(), servers_.end(),
                     [](const ServerEntry& server) { return server.settled || server.removed; });
}

std::string ServerTable::Reasons() const {
  std::string reasons;
  for (const ServerEntry& server : servers_) {
    if (server.removed) continue;
    const std::string reason =
        server.last_error.ok() ? "no answer yet" : std::string(server.last_error.message());
    // A transport's messages may begin with the address already.
    const bool named = reason.rfind(server.address, 0) == 0;
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ",
                    named ? reason : absl::StrCat(server.address, ": ", reason));
  }
  return reasons.empty() ? "the set of servers is empty" : reasons;
}

}  // namespace penstock
