// Servers: connecting, losing, and which lane goes where.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/fetch/placement.h"
#include "client/fetch/scheduler.h"
#include "records/base/status.h"

namespace penstock {
namespace {

// Codes that no reconnecting cures: the server understood and said no.
bool IsRefusal(absl::StatusCode code) {
  return code == absl::StatusCode::kInvalidArgument ||
         code == absl::StatusCode::kFailedPrecondition ||
         code == absl::StatusCode::kPermissionDenied ||
         code == absl::StatusCode::kUnauthenticated || code == absl::StatusCode::kUnimplemented ||
         code == absl::StatusCode::kNotFound || code == absl::StatusCode::kDataLoss;
}

// Without shuffling there is one lane; its windows take turns over this many places.
constexpr uint32_t kUnshuffledPlaces = 64;

}  // namespace

void FetchScheduler::Connect(absl::Time now) {
  if (servers_.AllRefused()) {
    return Fail(absl::Status(servers_.FirstRefusal().code(),
                             absl::StrCat("no server can be used: ", servers_.Reasons())));
  }
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    ServerEntry& server = servers_[i];
    if (server.state != ServerState::kBackoff || server.retry_at > now) continue;
    server.state = ServerState::kConnecting;
    ++server.generation;
    server.heard_at = now;
    server.credit_bytes = options_.fetch_bytes;  // Until the server says more.
    server.outstanding_bytes = 0;
    server.outstanding_requests = 0;
    actions_.OpenStream(servers_.stream(i), server.address);
  }
}

void FetchScheduler::CloseStreamOf(uint32_t server) {
  actions_.CloseStream(servers_.stream(server));
}

void FetchScheduler::Lose(absl::Time now, uint32_t index, absl::Status status) {
  const StreamId stream = servers_.stream(index);
  ServerEntry& server = servers_[index];
  const bool was_up = server.state != ServerState::kConnecting;
  if (was_up && IsRefusal(status.code())) {
    // The transport may have named the server already.
    const bool named = absl::StartsWith(status.message(), server.address);
    return Fail(named ? status : Annotate(status, server.address));
  }
  const bool refused = !was_up && IsRefusal(status.code());
  server.breaks += was_up;
  servers_.BackOff(server, now, std::move(status));
  if (refused) server.state = ServerState::kRefused;
  if (server.removed) server.state = ServerState::kRemoved;
  CloseStreamOf(index);
  requests_.ForEach([&](RequestEntry& request) {
    if (!(request.stream == stream)) return;
    ++lost_requests_[index];
    ReturnClaims(request);
    EndRequest(request);
  });
  windows_.ForEach([&](WindowEntry& window) {
    if (window.opened_on == stream) window.opened_on.reset();
  });
  lane_server_.clear();
  open_windows_ = pump_ = true;
}

// What is still wanted of its windows is asked elsewhere; its requests are answered.
void FetchScheduler::Drain(uint32_t index) {
  const StreamId stream = servers_.stream(index);
  servers_[index].state = ServerState::kDraining;
  lane_server_.clear();
  windows_.ForEach([&](WindowEntry& window) {
    if (window.opened_on == stream) window.opened_on.reset();
  });
  open_windows_ = true;
}

void FetchScheduler::CloseAll() {
  if (std::exchange(closed_, true)) return;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].has_stream()) CloseStreamOf(i);
    servers_[i].state = ServerState::kRemoved;
  }
}

void FetchScheduler::OnServersChanged(absl::Time, std::span<const std::string> addresses) {
  if (ended_) return;
  std::vector<bool> kept(servers_.size());
  for (const std::string& address : addresses) {
    const uint32_t index = servers_.Add(address);
    if (index < kept.size()) kept[index] = true;
  }
  lost_requests_.resize(servers_.size());
  for (uint32_t i = 0; i < kept.size(); ++i) {
    ServerEntry& server = servers_[i];
    if (kept[i] || server.removed) continue;
    server.removed = true;
    if (server.state == ServerState::kUp) Drain(i);
    if (server.state == ServerState::kDraining) continue;
    if (server.has_stream()) CloseStreamOf(i);
    server.state = ServerState::kRemoved;
  }
}

// A server that drains and owes nothing more is left; later it may be tried again.
void FetchScheduler::CloseDrained() {
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    ServerEntry& server = servers_[i];
    if (server.state != ServerState::kDraining || server.outstanding_requests > 0) continue;
    CloseStreamOf(i);
    server.state = server.removed ? ServerState::kRemoved : ServerState::kBackoff;
    server.backoff = ServerTable::kMaxBackoff;
    server.retry_at = server.heard_at + server.backoff;
    server.last_error = absl::UnavailableError("drained");
  }
}

void FetchScheduler::Place(absl::Time now) {
  if (!lane_server_.empty() || !servers_.AnyUp()) return;
  if (settle_by_ && now < *settle_by_ && !servers_.AllSettled()) return;
  settle_by_ = absl::InfinitePast();
  std::vector<PlacementServer> known;
  std::vector<uint32_t> index;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i].known || servers_[i].removed) continue;
    if (servers_[i].state == ServerState::kRefused) continue;
    known.push_back(
        {servers_[i].address, servers_[i].info.cores, servers_[i].state == ServerState::kUp});
    index.push_back(i);
  }
  const uint32_t places = plan_.shuffle() ? plan_.lanes() : kUnshuffledPlaces;
  lane_server_ = PlaceLanes(places, known, plan_.fingerprint());
  for (uint32_t& server : lane_server_) server = index[server];
  outstanding_limit_ = options_.max_outstanding_bytes / servers_.NumUp();
  open_windows_ = pump_ = true;
}

std::optional<uint32_t> FetchScheduler::ServerOf(const WindowEntry& window) const {
  if (lane_server_.empty()) return std::nullopt;
  const uint64_t place = plan_.shuffle() ? window.id.lane : window.id.index % kUnshuffledPlaces;
  return lane_server_[place];
}

void FetchScheduler::CheckTimeouts(absl::Time now) {
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& server = servers_[i];
    const bool owes = server.state == ServerState::kConnecting || server.outstanding_requests > 0;
    if (server.has_stream() && owes && now >= server.heard_at + options_.silence_timeout) {
      Lose(now, i,
           absl::UnavailableError(
               absl::StrCat("silent for ", absl::FormatDuration(options_.silence_timeout))));
    }
  }
  if (!ended_) CheckRequestAges(now);
  if (ended_) return;
  if (servers_.AnySteady(now)) return alone_since_.reset();
  if (!alone_since_) alone_since_ = now;
  if (now >= *alone_since_ + options_.server_timeout) {
    Fail(absl::UnavailableError(absl::StrCat("no server could be used for ",
                                             absl::FormatDuration(options_.server_timeout), ": ",
                                             servers_.Reasons())));
  }
}

// Other answers may keep a stream from being silent.
void FetchScheduler::CheckRequestAges(absl::Time now) {
  if (now < next_age_check_) return;
  next_age_check_ = now + absl::Seconds(1);
  std::optional<StreamId> late;
  requests_.ForEach([&](const RequestEntry& request) {
    if (now >= request.sent_at + 3 * options_.silence_timeout) late = request.stream;
  });
  if (late && servers_.Find(*late) != nullptr) {
    Lose(now, late->server,
         absl::UnavailableError(absl::StrCat("left a request unanswered for ",
                                             absl::FormatDuration(3 * options_.silence_timeout))));
  }
}

absl::Time FetchScheduler::NextWake(absl::Time now) const {
  absl::Time wake = absl::InfiniteFuture();
  for (size_t i = 0; i < servers_.size(); ++i) {
    const ServerEntry& server = servers_[i];
    if (server.state == ServerState::kBackoff) wake = std::min(wake, server.retry_at);
    if (server.state == ServerState::kConnecting || server.outstanding_requests > 0) {
      wake = std::min(wake, server.heard_at + options_.silence_timeout);
    }
  }
  if (alone_since_) wake = std::min(wake, *alone_since_ + options_.server_timeout);
  if (settle_by_ && *settle_by_ > now) wake = std::min(wake, *settle_by_);
  return std::min(wake, retry_wake_);
}

void FetchScheduler::Fail(absl::Status status) {
  ended_ = true;
  actions_.Fail(std::move(status));
}

}  // namespace penstock
