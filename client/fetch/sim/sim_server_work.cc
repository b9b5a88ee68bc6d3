// Handles a simulated server's requests and the faults that happen to it.
#include <algorithm>
#include <utility>

#include "client/fetch/sim/sim_server.h"

namespace penstock::sim {

void SimServer::Queue(const SessionPtr& session, const FetchRequest& fetch,
                      const OpenedWindow& window) {
  const std::optional<uint32_t> stand_in = IsEmpty(window) ? window.spare : std::nullopt;
  jobs_.emplace(std::pair(fetch.needed_at, ++job_sequence_),
                Job{session, fetch, window.id, stand_in, 0});
  Decode();
}

// Gives each free core the part that is needed first.
void SimServer::Decode() {
  while (busy_cores_ < model_.cores && !jobs_.empty()) {
    Job job = std::move(jobs_.begin()->second);
    jobs_.erase(jobs_.begin());
    if (!Serves(job.session) || !job.session->requests.contains(job.fetch.request) ||
        !job.session->windows.contains(job.fetch.window)) {
      continue;  // The job was cancelled or released, or its stream is gone.
    }
    ++busy_cores_;
    const uint32_t rows =
        std::min(model_.part_rows, job.fetch.rows * job.fetch.count - job.next_row);
    Later(rows * manners_.slow * model_.row_cost, [this, job = std::move(job)]() mutable {
      --busy_cores_;
      Decoded(std::move(job));
      Decode();
    });
  }
}

void SimServer::Decoded(Job job) {
  const uint32_t total = job.fetch.rows * job.fetch.count;
  const uint32_t rows = std::min(model_.part_rows, total - job.next_row);
  if (!Serves(job.session)) return;
  Send(job, job.next_row, rows);
  job.next_row += rows;
  if (job.next_row < total) {
    jobs_.emplace(std::pair(job.fetch.needed_at, ++job_sequence_), std::move(job));
  } else {
    job.session->requests.erase(job.fetch.request);
  }
}

SaysPart SimServer::MakePart(const Job& job, uint32_t first, uint32_t rows) const {
  SaysPart part{job.fetch.request, first, rows, rows * model_.row_bytes, {}};
  if (!model_.content) return part;
  part.content.reserve(rows);
  for (uint32_t i = first; i < first + rows; ++i) {
    const uint32_t row =
        job.fetch.first_row + i / job.fetch.rows * job.fetch.stride + i % job.fetch.rows;
    part.content.push_back(job.stand_in ? StandInContent(job.window, row, *job.stand_in)
                                        : RowContent(job.window, row));
  }
  return part;
}

void SimServer::Send(const Job& job, uint32_t first, uint32_t rows) {
  rows_sent_ += rows;
  SaysPart part = MakePart(job, first, rows);
  Misbehave(job, part);
  world_.Tell(job.session, std::move(part));
}

void SimServer::Misbehave(const Job& job, const SaysPart& part) {
  if (Draw(manners_.repeat)) {
    talked_nonsense_ = true;
    Later(rng_.Below(3) * absl::Seconds(1), [this, session = job.session, part] {
      if (Serves(session)) world_.Tell(session, part);
    });
  }
  if (Draw(manners_.stray)) {
    SaysPart stray = part;
    talked_nonsense_ = true;
    stray.request = Draw(0.5) ? stray.request + (uint64_t{1} << 20) : rng_.Next();
    world_.Tell(job.session, std::move(stray));
  }
  if (Draw(manners_.excess)) {
    SaysPart excess = part;
    excess.first_row = job.fetch.rows * job.fetch.count - static_cast<uint32_t>(rng_.Below(2));
    excess.content.assign(excess.rows + 1, 1);
    ++excess.rows;
    talked_nonsense_ = true;
    world_.Tell(job.session, std::move(excess));
  }
  if (Draw(manners_.overlap) && part.first_row > 0) {
    SaysPart overlap = MakePart(job, part.first_row - 1, part.rows + 1);
    talked_nonsense_ = true;
    world_.Tell(job.session, std::move(overlap));
  }
  if (Draw(manners_.empty)) {
    talked_nonsense_ = true;
    world_.Tell(job.session, SaysPart{job.fetch.request, part.first_row, 0, 0, {}});
  }
}

void SimServer::EndAll() {
  alive_ = false;
  ++starts_;
  for (const SessionPtr& session : sessions_) {
    session->server_open = false;
    session->windows.clear();
    session->requests.clear();
  }
  sessions_.clear();
  jobs_.clear();
  deferred_.clear();
  busy_cores_ = 0;
  store_.reset();
  stalled_ = draining_ = false;
}

void SimServer::Kill(const absl::Status& reason) {
  const std::vector<SessionPtr> sessions = sessions_;
  EndAll();
  silent_ = false;
  for (const SessionPtr& session : sessions) world_.Tell(session, reason);
}

void SimServer::Vanish() {
  EndAll();
  silent_ = true;
}

void SimServer::Start() {
  if (alive_) EndAll();
  alive_ = true;
  ++starts_;
  manners_ = {};
  store_ = std::make_unique<WindowStore>(
      model_.store,
      [this](absl::Duration delay, std::function<void()> action) {
        Later(delay, std::move(action));
      },
      [this](WindowId window, uint32_t rows) {
        if (load_records_ == nullptr) return;
        load_records_->push_back({queue_.now(), window, rows, index_});
      });
}

void SimServer::Resume() {
  if (!std::exchange(stalled_, false)) return;
  const uint64_t start = starts_;
  for (auto& action : std::exchange(deferred_, {})) {
    if (start != starts_) return;  // One of them killed the server.
    action();
  }
}

void SimServer::Drain(absl::Duration grace) {
  if (!alive_ || std::exchange(draining_, true)) return;
  for (const SessionPtr& session : sessions_) world_.Tell(session, SaysDraining{grace});
  EndIfDrained();
}

void SimServer::EndIfDrained() {
  if (draining_ && sessions_.empty()) Kill(absl::UnavailableError("the server has drained"));
}

void SimServer::Break(uint32_t rank, const absl::Status& reason) {
  for (const SessionPtr& session : std::vector<SessionPtr>(sessions_)) {
    if (session->rank != rank) continue;
    Forget(session);
    world_.Tell(session, reason);
  }
}

}  // namespace penstock::sim
