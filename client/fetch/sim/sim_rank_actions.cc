// Carries out the commands of a simulated rank's controller, and acts as its consumer.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/fetch/sim/sim_rank.h"

namespace penstock::sim {

// Each action stops the stopwatch, because its work is the simulator's. The arguments after `more`
// are the arguments of the command, for the hash.
#define PENSTOCK_SIM_ACTION(name, stream, more, ...)          \
  Stopwatch::Scope pause(stopwatch_, false);                  \
  commands_.Command(queue_.now(), name, stream, __VA_ARGS__); \
  Require(!ended() || stopping, "acts after its end");        \
  if (world_.logs()) Log(name, stream, more)

void SimRank::OpenStream(StreamId stream, const std::string& address) {
  constexpr bool stopping = false;
  PENSTOCK_SIM_ACTION("connects", stream, address, absl::string_view(address));
  Require(!connections_.contains(stream.server), "a second stream to one server");
  auto session = std::make_shared<Session>();
  session->rank = rank_;
  session->server = world_.ServerAt(address);
  session->stream = stream;
  Connection& connection = connections_[stream.server];
  connection = {};
  connection.session = session;
  connection.credit_bytes = options_.controller.fetch_bytes;
  ++stats_.streams;
  world_.Ask(session, [session](SimServer& server) { server.Accept(session); });
}

void SimRank::CloseStream(StreamId stream) {
  constexpr bool stopping = true;
  PENSTOCK_SIM_ACTION("closes", stream, "", uint64_t{0});
  Connection* connection = Find(stream);
  if (connection == nullptr) return Require(false, "closes a stream that is not open");
  connection->session->client_open = false;
  outstanding_bytes_ -= connection->outstanding_bytes;
  world_.Ask(connection->session,
             [session = connection->session](SimServer& server) { server.Close(session); });
  connections_.erase(stream.server);
}

void SimRank::OpenWindow(StreamId stream, const WindowRequest& window) {
  constexpr bool stopping = false;
  PENSTOCK_SIM_ACTION("opens", stream,
                      absl::StrCat("window ", window.number, " = ", ToString(window.id)), window);
  Connection* connection = Find(stream);
  if (connection == nullptr) return Require(false, "opens a window on a closed stream");
  Require(!connection->draining, "opens a window on a server that drains");
  OpenedWindow opened;
  opened.id = window.id;
  opened.rows = window.order->WindowRows(window.id);
  opened.needed_at = window.needed_at;
  opened.spare = window.spare;
  opened.damaged.assign(window.damaged.begin(), window.damaged.end());
  ++stats_.windows;
  Require(connection->windows.emplace(window.number, opened.rows).second, "opens a window twice");
  world_.Ask(connection->session,
             [session = connection->session, number = window.number, opened](SimServer& server) {
               server.OpenWindow(session, number, opened);
             });
}

void SimRank::ReleaseWindow(StreamId stream, uint64_t window) {
  constexpr bool stopping = true;  // The last windows may be released with the last step.
  PENSTOCK_SIM_ACTION("releases", stream, absl::StrCat("window ", window), window);
  Connection* connection = Find(stream);
  if (connection == nullptr) return Require(false, "releases a window on a closed stream");
  Require(connection->windows.erase(window) == 1, "releases a window that is not open");
  for (auto at = connection->asked.begin(); at != connection->asked.end();) {
    const auto current = at++;
    if (current->second.window == window) Answered(*connection, current->first);
  }
  world_.Ask(connection->session, [session = connection->session, window](SimServer& server) {
    server.Release(session, window);
  });
}

void SimRank::Fetch(StreamId stream, const FetchRequest& fetch) {
  constexpr bool stopping = false;
  PENSTOCK_SIM_ACTION(
      "asks", stream,
      absl::StrCat("request ", fetch.request, ": window ", fetch.window, ", rows ", fetch.first_row,
                   " + ", fetch.rows, ", ", fetch.count, " times every ", fetch.stride),
      fetch);
  Connection* connection = Find(stream);
  if (connection == nullptr) return Require(false, "asks on a closed stream");
  Require(!connection->draining, "asks more of a server that drains");
  Require(connection->windows.contains(fetch.window), "asks for rows of a window that is not open");
  const uint64_t rows = uint64_t{fetch.rows} * fetch.count;
  const uint64_t bytes = rows * options_.controller.row_bytes;
  CheckOutstanding(*connection, bytes);
  Require(connection->asked.emplace(fetch.request, Asked{fetch.window, bytes, rows}).second,
          "uses a request number twice");
  connection->outstanding_bytes += bytes;
  outstanding_bytes_ += bytes;
  stats_.most_outstanding_bytes = std::max(stats_.most_outstanding_bytes, outstanding_bytes_);
  ++stats_.requests;
  world_.Ask(connection->session, [session = connection->session, fetch](SimServer& server) {
    server.Fetch(session, fetch);
  });
}

// If a server drains and owes nothing, it only waits for this stream to end.
void SimRank::CheckDrained() {
  if (!checker_) return;  // Saves time.
  for (const auto& [server, connection] : connections_) {
    Require(!connection.draining || !connection.asked.empty(),
            "stays with a server that drains and owes nothing");
  }
}

// A server may always have one request, whatever the limits.
void SimRank::CheckOutstanding(const Connection& connection, uint64_t bytes) {
  if (connection.asked.empty()) return;
  Require(connection.outstanding_bytes + bytes <= connection.credit_bytes,
          "asks for more than the server's credit");
  Require(outstanding_bytes_ + bytes <= options_.controller.max_outstanding_bytes,
          "asks for more than max_outstanding_bytes");
}

void SimRank::Answered(Connection& connection, uint64_t request) {
  const auto at = connection.asked.find(request);
  if (at == connection.asked.end()) return;
  connection.outstanding_bytes -= at->second.bytes;
  outstanding_bytes_ -= at->second.bytes;
  connection.asked.erase(at);
}

void SimRank::Cancel(StreamId stream, uint64_t request) {
  constexpr bool stopping = true;
  PENSTOCK_SIM_ACTION("cancels", stream, absl::StrCat("request ", request), request);
  Connection* connection = Find(stream);
  if (connection == nullptr) return Require(false, "cancels on a closed stream");
  Answered(*connection, request);
  world_.Ask(connection->session, [session = connection->session, request](SimServer& server) {
    server.Cancel(session, request);
  });
}

void SimRank::Deliver(const ReadyStep& step) {
  constexpr bool stopping = false;
  PENSTOCK_SIM_ACTION("delivers", StreamId{}, absl::StrCat("step ", step.index), step);
  if (checker_) {
    const std::string wrong = checker_->Deliver(step);
    Require(wrong.empty(), wrong);
  }
  ++stats_.steps;
  stats_.rows += step.step.rank_rows;
  ready_.push_back({step.index, step.slot});
  if (std::exchange(consumer_idle_, false)) queue_.After(absl::ZeroDuration(), [this] { Take(); });
}

void SimRank::Finish() {
  constexpr bool stopping = false;
  PENSTOCK_SIM_ACTION("finishes", StreamId{}, "", uint64_t{0});
  finished_ = true;
}

void SimRank::Fail(absl::Status status) {
  constexpr bool stopping = false;
  PENSTOCK_SIM_ACTION("fails", StreamId{}, status.ToString(), absl::string_view(status.ToString()));
  Require(failure_.ok() && !finished_, "fails after its end");
  failure_ = std::move(status);
  healthy_before_failure_ = world_.HealthyFor(rank_);
}

void SimRank::Report(absl::string_view line) {
  constexpr bool stopping = true;
  PENSTOCK_SIM_ACTION("reports", StreamId{}, std::string(line), line);
}

#undef PENSTOCK_SIM_ACTION

// The consumer is ready for the next batch.
void SimRank::Take() {
  if (ready_.empty()) {
    consumer_idle_ = true;
    if (starving_ || ended()) return;
    starving_ = queue_.now();
    Post([this] {
      if (!starving_ || ended()) return;
      Stopwatch::Scope controller(stopwatch_, true);
      controller_.OnConsumerWaiting(queue_.now(), consumed_);
    });
    return;
  }
  stats_.waits.push_back(starving_ ? queue_.now() - *starving_ : absl::ZeroDuration());
  starving_.reset();
  const Ready next = ready_.front();
  ready_.pop_front();
  ++consumed_;
  Consume(next.slot);
}

void SimRank::Consume(uint32_t slot) {
  held_.push_back(slot);
  absl::Duration busy = options_.consumer.step;
  if (options_.consumer.pause_every > 0 && consumed_ % options_.consumer.pause_every == 0) {
    busy += options_.consumer.pause;
  }
  queue_.After(busy, [this] {
    if (held_.size() > options_.consumer.hold) {
      const uint32_t done = held_.front();
      held_.pop_front();
      Post([this, done] {
        if (checker_) checker_->Release(done);
        Stopwatch::Scope controller(stopwatch_, true);
        controller_.OnSlotReleased(done);
      });
    }
    Take();
  });
}

}  // namespace penstock::sim
