#include "client/fetch/sim/sim_rank.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::sim {
namespace {

// A controller that wants to be woken more often than this while nothing happens is spinning.
constexpr uint64_t kMostTimerWakesPerSecond = 5'000;

}  // namespace

SimRank::SimRank(uint32_t rank, const Plan& plan, const Steps& steps, const RankOptions& options,
                 EventQueue& queue, RankSurroundings& world, uint64_t seed)
    : rank_(rank),
      options_(options),
      queue_(queue),
      world_(world),
      rng_(DeriveKey(seed, rank)),
      stopwatch_(options.stopwatch),
      addresses_(options.controller.servers),
      controller_(plan, steps, options.controller, *this) {
  if (options_.check) {
    checker_.emplace(plan, steps, options.controller.num_slots, options.stand_in);
  }
}

void SimRank::Start() {
  Advance();
  Take();
}

void SimRank::Post(std::function<void()> event) {
  inbox_.push_back(std::move(event));
  if (std::exchange(wake_pending_, true)) return;
  queue_.After(rng_.Uniform() * options_.wake_delay, [this] { Wake(); });
}

void SimRank::Stop(absl::Duration lasts) {
  goes_on_at_ = std::max(goes_on_at_, queue_.now() + lasts);
}

void SimRank::Wake() {
  if (queue_.now() < goes_on_at_) {
    wake_pending_ = true;
    return queue_.At(goes_on_at_, [this] { Wake(); });
  }
  wake_pending_ = false;
  for (auto& event : std::exchange(inbox_, {})) event();
  Advance();
}

void SimRank::Advance() {
  const absl::Time now = queue_.now();
  absl::Time wake;
  {
    Stopwatch::Scope controller(stopwatch_, true);
    wake = controller_.Advance(now);
  }
  ++stats_.advances;
  advances_at_once_ = now == last_advance_ ? advances_at_once_ + 1 : 0;
  last_advance_ = now;
  Require(advances_at_once_ < 10'000, "the controller never comes to rest");
  CheckDrained();
  if (ended()) {
    ++timer_number_;
  } else if (wake != timer_) {
    SetTimer(wake);
  }
}

void SimRank::SetTimer(absl::Time wake) {
  timer_ = wake;
  const uint64_t number = ++timer_number_;
  if (wake == absl::InfiniteFuture()) return;
  queue_.At(wake, [this, number] {
    if (number != timer_number_) return;
    timer_ = absl::InfiniteFuture();
    if (queue_.now() >= timer_wakes_since_ + absl::Seconds(1)) {
      timer_wakes_since_ = queue_.now();
      timer_wakes_ = 0;
    }
    Require(++timer_wakes_ <= kMostTimerWakesPerSecond, "the controller spins");
    if (!wake_pending_) Wake();
  });
}

void SimRank::Receive(const std::shared_ptr<Session>& session, Message message) {
  if (!session->client_open) return;
  if (world_.logs()) Log("hears", session->stream, ToString(message));
  Post([this, session, message = std::move(message)]() mutable { Hear(session, message); });
}

void SimRank::ChangeServers(std::vector<std::string> addresses) {
  Post([this, addresses = std::move(addresses)] {
    if (ended()) return;  // addresses() keeps the set that it had at the end.
    addresses_ = addresses;
    Stopwatch::Scope controller(stopwatch_, true);
    controller_.OnServersChanged(queue_.now(), addresses);
  });
}

void SimRank::Hear(const std::shared_ptr<Session>& session, Message& message) {
  const absl::Time now = queue_.now();
  const StreamId id = session->stream;
  if (auto* part = std::get_if<SaysPart>(&message)) return HearPart(id, *part);
  if (Connection* connection = Find(id)) {
    Note(*connection, message);
    // The transport does the same.
    if (connection->draining && !connection->greeted) {
      message = absl::UnavailableError("the server is draining");
    }
  }
  Stopwatch::Scope controller(stopwatch_, true);
  if (auto* info = std::get_if<ServerInfo>(&message)) {
    controller_.OnHello(now, id, *info);
  } else if (auto* said = std::get_if<SaysCredit>(&message)) {
    controller_.OnCredit(now, id, said->bytes);
  } else if (auto* ready = std::get_if<SaysReady>(&message)) {
    controller_.OnWindowReady(now, id, ready->window);
  } else if (auto* error = std::get_if<StreamError>(&message)) {
    // The controller ends the request before it asks for the rows again.
    Connection* connection = Find(id);
    if (connection != nullptr && error->request) Answered(*connection, *error->request);
    controller_.OnError(now, id, *error);
  } else if (auto* draining = std::get_if<SaysDraining>(&message)) {
    controller_.OnDraining(now, id, draining->grace);
  } else {
    controller_.OnBroken(now, id, std::get<absl::Status>(message));
  }
}

// The server sent it on the stream, so it binds the controller from now on.
void SimRank::Note(Connection& connection, const Message& message) {
  if (auto* credit = std::get_if<SaysCredit>(&message)) connection.credit_bytes = credit->bytes;
  connection.greeted |= std::holds_alternative<ServerInfo>(message);
  connection.draining |= std::holds_alternative<SaysDraining>(message);
}

void SimRank::HearPart(StreamId stream, const SaysPart& part) {
  Stopwatch::Scope controller(stopwatch_, true);
  const std::span<const RowCopy> copies =
      controller_.OnPart(queue_.now(), stream, part.request, part.first_row, part.rows);
  if (copies.empty()) return;
  {
    Stopwatch::Scope pause(stopwatch_, false);
    uint64_t rows = 0;
    for (const RowCopy& copy : copies) {
      rows += copy.rows;
      if (!checker_) continue;
      const std::string wrong = checker_->Copy(copy, part.content);
      Require(wrong.empty(), wrong);
    }
    Connection* connection = Find(stream);
    Require(connection != nullptr, "rows taken from a stream that is closed");
    if (connection != nullptr && connection->asked.contains(part.request)) {
      Asked& asked = connection->asked[part.request];
      asked.rows_missing -= std::min(asked.rows_missing, rows);
      if (asked.rows_missing == 0) Answered(*connection, part.request);
    }
  }
  controller_.OnPartCopied(copies);
}

SimRank::Connection* SimRank::Find(StreamId stream) {
  const auto at = connections_.find(stream.server);
  return at != connections_.end() && at->second.session->stream == stream ? &at->second : nullptr;
}

void SimRank::Log(absl::string_view what, StreamId stream, const std::string& more) {
  world_.Log(absl::StrCat("rank ", rank_, " ", what, " [server ", stream.server, " stream ",
                          stream.generation, "] ", more));
}

void SimRank::Require(bool rule, absl::string_view otherwise) {
  if (!rule) world_.Violate(absl::StrCat("rank ", rank_, ": ", otherwise));
}

size_t SimRank::open_windows() const {
  size_t open = 0;
  for (const auto& [server, connection] : connections_) open += connection.windows.size();
  return open;
}

}  // namespace penstock::sim
