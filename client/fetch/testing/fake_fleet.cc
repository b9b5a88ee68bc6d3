#include "client/fetch/testing/fake_fleet.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

std::string AddressOf(uint32_t server) { return absl::StrCat("10.0.0.", server + 1, ":7070"); }

}  // namespace

FakeFleet::FakeFleet(const Plan& plan, const Steps& steps, FetchOptions controller,
                     FleetOptions options)
    : plan_(plan),
      options_(options),
      rng_(options.seed),
      row_bytes_(controller.row_bytes),
      max_outstanding_bytes_(controller.max_outstanding_bytes),
      servers_(options.servers),
      slots_(controller.num_slots, std::vector<Location>(steps.max_rank_rows() + 1)),
      controller_(
          plan, steps,
          [&] {
            for (uint32_t i = 0; i < options.listed.value_or(options.servers); ++i) {
              controller.servers.push_back(AddressOf(i));
            }
            controller.seed = options.seed;
            return controller;
          }(),
          *this) {}

bool FakeFleet::Run() {
  absl::Time wake = controller_.Advance(now_);
  for (int i = 0; i < 10'000'000 && failure_.ok() && violation_.empty(); ++i) {
    const bool event_first = !events_.empty() && events_.begin()->first <= wake;
    if (finished_ && events_.empty()) return true;
    if (!event_first && wake == absl::InfiniteFuture()) break;
    if (event_first) {
      now_ = std::max(now_, events_.begin()->first);
      auto action = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      action();
    } else {
      if (finished_) return true;
      now_ = std::max(now_, wake);
    }
    wake = controller_.Advance(now_);
  }
  if (failure_.ok() && violation_.empty() && !finished_) Violate("nothing more happens");
  return finished_ && violation_.empty();
}

void FakeFleet::At(absl::Duration delay, std::function<void()> action) {
  events_.emplace(now_ + delay, std::move(action));
}

void FakeFleet::KillAt(absl::Duration when, uint32_t index) {
  At(when, [this, index] {
    servers_[index].alive = false;
    Die(index, absl::UnavailableError("connection reset"));
  });
}

void FakeFleet::BreakAt(absl::Duration when, uint32_t index, absl::Status status) {
  At(when, [this, index, status] { Die(index, status); });
}

void FakeFleet::Die(uint32_t index, absl::Status status) {
  FakeServer& server = servers_[index];
  server.Forget();
  const StreamId stream{index, std::exchange(server.generation, 0)};
  if (stream.generation != 0) controller_.OnBroken(now_, stream, std::move(status));
}

void FakeFleet::RestartAt(absl::Duration when, uint32_t index) {
  At(when, [this, index] {
    servers_[index].alive = true;
    servers_[index].stalled = false;
  });
}

void FakeFleet::DrainAt(absl::Duration when, uint32_t index, absl::Duration grace) {
  At(when, [this, index, grace] {
    servers_[index].alive = false;  // The server takes no new stream.
    servers_[index].draining = true;
    const StreamId stream{index, servers_[index].generation};
    controller_.OnDraining(now_, stream, grace);
    if (grace == absl::ZeroDuration()) return;
    At(grace, [this, stream] {
      if (stream.generation == 0 || !Serves(stream) || servers_[stream.server].stalled) return;
      Die(stream.server, absl::UnavailableError("its drain time has ended"));
    });
  });
}

void FakeFleet::StallAt(absl::Duration when, uint32_t index) {
  At(when, [this, index] { servers_[index].stalled = true; });
}

void FakeFleet::SlowDownAt(absl::Duration when, uint32_t index, double factor) {
  At(when, [this, index, factor] { servers_[index].slowness = factor; });
}

void FakeFleet::DieOfRow(uint32_t server, WindowId window, uint32_t row) {
  servers_[server].deadly.insert({window, row});
}

void FakeFleet::DamageWindow(uint32_t server, WindowId window, Damage damage) {
  servers_[server].damage[window] = std::move(damage);
}

void FakeFleet::EmptyWindow(uint32_t server, WindowId window, std::set<uint32_t> chunks) {
  servers_[server].empty[window] = std::move(chunks);
}

void FakeFleet::FailNextFetch(uint32_t server, absl::Status status) {
  servers_[server].fail_next = std::move(status);
}

void FakeFleet::FailWindows(uint32_t server, int times, StreamError error) {
  servers_[server].windows_to_fail = times;
  servers_[server].fail_windows = std::move(error);
}

void FakeFleet::RefuseFor(absl::Duration when, absl::Duration lasts, absl::Status refusal) {
  At(when, [this, refusal] {
    refusal_ = refusal;
    for (uint32_t i = 0; i < servers_.size(); ++i) Die(i, absl::UnavailableError("token removed"));
  });
  At(when + lasts, [this] { refusal_ = absl::OkStatus(); });
}

void FakeFleet::StopClientAt(absl::Duration when, absl::Duration lasts) {
  At(when, [this, lasts] { now_ += lasts; });
}

size_t FakeFleet::open_windows() const {
  size_t open = 0;
  for (const FakeServer& server : servers_) open += server.draining ? 0 : server.windows.size();
  return open;
}

size_t FakeFleet::open_streams() const {
  return static_cast<size_t>(std::count_if(
      servers_.begin(), servers_.end(), [](const auto& server) { return server.generation != 0; }));
}

bool FakeFleet::Serves(StreamId stream) const {
  return servers_[stream.server].generation == stream.generation;
}

void FakeFleet::OpenStream(StreamId stream, const std::string& address) {
  if (address != AddressOf(stream.server)) Violate("another server at a known index");
  ++servers_[stream.server].connects;
  At(Jitter(options_.latency), [this, stream] {
    FakeServer& server = servers_[stream.server];
    if (!server.alive) {
      return controller_.OnBroken(now_, stream, absl::UnavailableError("connection refused"));
    }
    if (server.stalled) return;
    if (!refusal_.ok()) return controller_.OnBroken(now_, stream, refusal_);
    server.generation = stream.generation;
    server.draining = false;
    ServerInfo info;
    info.instance = server.instance;
    info.cores = 2;
    controller_.OnHello(now_, stream, info);
    SayCredit(stream);
  });
}

void FakeFleet::SayCredit(StreamId stream) {
  if (!Serves(stream) || servers_[stream.server].stalled) return;
  controller_.OnCredit(now_, stream, options_.credit_bytes, options_.working);
  if (options_.credit_every == absl::InfiniteDuration()) return;
  At(options_.credit_every, [this, stream] { SayCredit(stream); });
}

void FakeFleet::CloseStream(StreamId stream) {
  FakeServer& server = servers_[stream.server];
  if (!Serves(stream)) return;
  server.generation = 0;
  server.Forget();
}

void FakeFleet::OpenWindow(StreamId stream, const WindowRequest& window) {
  if (!Serves(stream)) return;
  FakeServer& server = servers_[stream.server];
  CheckDraining(server);
  ++windows_opened_;
  const absl::Time ready_at = now_ + Jitter(options_.load) * server.slowness;
  FakeServer::Window opened{
      window.id, ready_at, {window.damaged.begin(), window.damaged.end()}, window.spare};
  if (!server.windows.emplace(window.number, std::move(opened)).second) {
    Violate(absl::StrCat("window ", window.number, " opened twice"));
  }
  most_windows_ = std::max(most_windows_, server.windows.size());
  if (server.dies_of_windows) {
    return At(absl::ZeroDuration(), [this, stream] {
      if (Serves(stream)) Die(stream.server, absl::UnavailableError("connection reset"));
    });
  }
  const auto lack = server.lacks.find(window.id);
  if (server.windows_to_fail == 0 && lack == server.lacks.end()) {
    return At(ready_at - now_, [this, stream, number = window.number] {
      if (Serves(stream) && !servers_[stream.server].stalled) {
        controller_.OnWindowReady(now_, stream, number);
      }
    });
  }
  server.failed.insert(window.number);
  StreamError error = server.fail_windows;
  if (server.windows_to_fail == 0) error.status = lack->second;
  server.windows_to_fail -= server.windows_to_fail > 0;
  error.window = window.number;
  At(options_.latency, [this, stream, error] { controller_.OnError(now_, stream, error); });
}

void FakeFleet::Cancel(StreamId stream, uint64_t request) {
  if (!Serves(stream)) return;
  FakeServer& server = servers_[stream.server];
  ++cancels_;
  if (server.asked.contains(request)) server.Answered(request);
}

void FakeFleet::ServersAt(absl::Duration when, uint32_t count) {
  At(when, [this, count] {
    std::vector<std::string> addresses;
    for (uint32_t i = 0; i < count; ++i) addresses.push_back(AddressOf(i));
    controller_.OnServersChanged(now_, addresses);
  });
}

void FakeFleet::ReleaseWindow(StreamId stream, uint64_t window) {
  if (!Serves(stream)) return;
  FakeServer& server = servers_[stream.server];
  if (server.windows.erase(window) == 0) {
    return Violate(absl::StrCat("window ", window, " released but not open"));
  }
  for (auto asked = server.asked.begin(); asked != server.asked.end();) {
    const auto current = asked++;
    if (current->second.window == window) server.Answered(current->first);
  }
}

void FakeFleet::Fetch(StreamId stream, const FetchRequest& fetch) {
  ++fetches_;
  if (!requests_seen_.insert(fetch.request).second) Violate("request number used twice");
  if (!Serves(stream)) return;
  FakeServer& server = servers_[stream.server];
  auto window = server.windows.find(fetch.window);
  if (window == server.windows.end()) return Violate("fetch from a window that is not open");
  CheckDraining(server);
  CheckCredit(server, fetch);
  if (server.stalled || server.forget_all || std::exchange(server.forget_next, false)) return;
  if (!window->second.in_use && IsFull(server) && server.fail_next.ok()) {
    server.fail_next = absl::ResourceExhaustedError("windows do not fit");
  } else {
    window->second.in_use = true;
  }
  const bool window_failed = server.failed.contains(fetch.window);
  if (window_failed || !server.fail_next.ok()) {
    StreamError error;
    if (window_failed) {
      error = server.fail_windows;
    } else {
      error.status = std::exchange(server.fail_next, absl::OkStatus());
    }
    error.request = fetch.request;
    server.Answered(fetch.request);
    return At(options_.latency,
              [this, stream, error] { controller_.OnError(now_, stream, error); });
  }
  if (DiesOf(stream, fetch, window->second.id)) return;
  if (!RefuseForDamage(stream, fetch, window->second)) Answer(stream, fetch, window->second);
}

bool FakeFleet::IsFull(const FakeServer& server) const {
  const auto in_use = [](const auto& window) { return window.second.in_use; };
  return options_.windows_in_use > 0 &&
         std::count_if(server.windows.begin(), server.windows.end(), in_use) >=
             static_cast<std::ptrdiff_t>(options_.windows_in_use);
}

bool FakeFleet::DiesOf(StreamId stream, const FetchRequest& fetch, WindowId window) {
  for (const auto& [deadly, row] : servers_[stream.server].deadly) {
    if (deadly != window || row < fetch.first_row) continue;
    const uint32_t from_first = row - fetch.first_row;
    const uint32_t stride = std::max(fetch.stride, 1u);
    if (from_first / stride >= fetch.count || from_first % stride >= fetch.rows) continue;
    if (deaths_left_ == 0) return false;
    --deaths_left_;
    At(options_.latency, [this, stream] {
      if (Serves(stream)) Die(stream.server, absl::UnavailableError("connection reset"));
    });
    return true;
  }
  return false;
}

bool FakeFleet::RefuseForDamage(StreamId stream, const FetchRequest& fetch,
                                const FakeServer::Window& window) {
  FakeServer& server = servers_[stream.server];
  std::optional<StreamError> error = FindDamage(server, window);
  if (!error) return false;
  error->request = fetch.request;
  server.Answered(fetch.request);
  At(options_.latency, [this, stream, error] { controller_.OnError(now_, stream, *error); });
  return true;
}

// The error does not yet name its request or window.
std::optional<StreamError> FakeFleet::FindDamage(FakeServer& server,
                                                 const FakeServer::Window& window) {
  if (!server.lost.empty()) return FindLostChunk(server, window);
  StreamError error;
  error.status = absl::DataLossError("bad CRC");
  const auto is_new = [&](const Damage& damage) {
    error.damage = damage;
    return std::none_of(window.damaged.begin(), window.damaged.end(), [&](const Damage& told) {
      return told.shard == damage.shard && told.chunk_offset == damage.chunk_offset &&
             told.record == damage.record;
    });
  };
  const auto damage = server.damage.find(window.id);
  if (damage != server.damage.end() && is_new(damage->second)) return error;
  const auto empty = server.empty.find(window.id);
  if (empty == server.empty.end()) return std::nullopt;
  const std::optional<uint32_t> spare = server.knows_spares ? window.spare : std::nullopt;
  if (spare && !empty->second.contains(*spare)) {
    spares_used_[window.id].insert(*spare);
    return std::nullopt;
  }
  if (spare && is_new({"spare.tfrecord", *spare, 0, true})) return error;
  error.damage.reset();
  error.needs_spare = server.knows_spares;
  return error;
}

std::optional<StreamError> FakeFleet::FindLostChunk(FakeServer& server,
                                                    const FakeServer::Window& window) {
  StreamError error;
  error.status = absl::DataLossError("bad CRC");
  const EpochOrder order = plan_.Epoch(window.id.epoch);
  const auto own = order.WindowChunks(window.id);
  std::vector<uint32_t> chunks(own.begin(), own.end());
  if (window.spare) chunks.push_back(*window.spare);
  size_t lost = 0;
  for (const uint32_t chunk : chunks) {
    if (!server.lost.contains(chunk)) continue;
    ++lost;
    const bool told = std::any_of(window.damaged.begin(), window.damaged.end(),
                                  [&](const Damage& d) { return d.chunk_offset == chunk; });
    error.damage = Damage{"s", chunk, 0, true};
    if (!told) return error;
  }
  if (lost < own.size() || (window.spare && lost < chunks.size())) {
    if (lost == own.size()) spares_used_[window.id].insert(*window.spare);
    return std::nullopt;
  }
  error.damage.reset();
  error.needs_spare = true;
  return error;
}

void FakeFleet::Answer(StreamId stream, const FetchRequest& fetch,
                       const FakeServer::Window& window) {
  std::vector<Location> rows;
  for (uint32_t i = 0; i < fetch.count; ++i) {
    for (uint32_t row = 0; row < fetch.rows; ++row) {
      rows.push_back({window.id, fetch.first_row + i * fetch.stride + row});
    }
  }
  FakeServer& server = servers_[stream.server];
  server.rows += rows.size();
  const absl::Duration loading = std::max(window.ready_at - now_, absl::ZeroDuration());
  for (size_t first = 0; first < rows.size(); first += options_.part_rows) {
    const size_t end = std::min(rows.size(), first + options_.part_rows);
    std::vector<Location> part(rows.begin() + first, rows.begin() + end);
    const int times = rng_.Uniform() < server.duplicate ? 2 : 1;
    // The second copy comes while its request waits for more, or long after the request has ended.
    const absl::Duration later = rng_.Below(2) * absl::Seconds(1);
    for (int i = 0; i < times; ++i) {
      At(loading + Jitter(options_.latency) * server.slowness + i * later, [=, this] {
        PartArrives(stream, fetch.request, static_cast<uint32_t>(first), part);
        if (servers_[stream.server].repeats) RepeatPart(stream, fetch.request, part);
      });
    }
    if (server.repeats) return;
  }
}

void FakeFleet::RepeatPart(StreamId stream, uint64_t request, const std::vector<Location>& rows) {
  At(absl::Milliseconds(100), [=, this] {
    if (!Serves(stream)) return;
    PartArrives(stream, request, 0, rows);
    RepeatPart(stream, request, rows);
  });
}

void FakeFleet::PartArrives(StreamId stream, uint64_t request, uint32_t first,
                            const std::vector<Location>& rows) {
  if (!Serves(stream) || servers_[stream.server].stalled) return;
  FakeServer& server = servers_[stream.server];
  if (auto asked = server.asked.find(request); asked != server.asked.end()) {
    asked->second.left -= std::min<uint64_t>(asked->second.left, rows.size());
    if (asked->second.left == 0) server.Answered(request);
  }
  const auto copies =
      controller_.OnPart(now_, stream, request, first, static_cast<uint32_t>(rows.size()));
  if (copies.empty()) return;
  auto fill = [this, rows, copies = std::vector(copies.begin(), copies.end())] {
    for (const RowCopy& copy : copies) {
      std::copy_n(rows.begin() + copy.part_row, copy.rows,
                  slots_[copy.slot].begin() + copy.slot_row);
    }
    controller_.OnPartCopied(copies);
  };
  if (options_.copying == absl::ZeroDuration()) return fill();
  At(options_.copying, fill);
  controller_.AskForMore(now_);
}

void FakeFleet::Deliver(const ReadyStep& step) {
  if (step.index != delivered_++) Violate("steps delivered out of order");
  Check(step);
  if (step.index > 0) longest_wait_ = std::max(longest_wait_, now_ - consumer_free_);
  consumer_free_ = std::max(consumer_free_, now_) + options_.consume;
  events_.emplace(consumer_free_, [this, slot = step.slot, next = step.index + 1] {
    held_.push_back(slot);
    if (held_.size() > options_.hold) {
      std::fill(slots_[held_.front()].begin(), slots_[held_.front()].end(), Location());
      controller_.OnSlotReleased(held_.front());
      held_.pop_front();
    }
    if (delivered_ == next) controller_.OnConsumerWaiting(now_, next);
  });
}

void FakeFleet::CheckDraining(const FakeServer& server) {
  if (server.draining) Violate("asked more of a server that drains");
}

// A duplicate counts as an answer, so the check errs on the lenient side.
void FakeFleet::CheckCredit(FakeServer& server, const FetchRequest& fetch) {
  const uint64_t rows = uint64_t{fetch.rows} * fetch.count;
  if (server.outstanding_rows > 0 && (server.outstanding_rows + rows) * row_bytes_ >
                                         std::min(options_.credit_bytes, max_outstanding_bytes_)) {
    Violate("asked for more than the credit");
  }
  server.outstanding_rows += rows;
  server.asked[fetch.request] = {fetch.window, rows, rows};
}

void FakeFleet::FakeServer::Answered(uint64_t request) {
  outstanding_rows -= asked[request].rows;
  asked.erase(request);
}

void FakeFleet::FakeServer::Forget() {
  windows.clear();
  failed.clear();
  asked.clear();
  outstanding_rows = 0;
}

void FakeFleet::Check(const ReadyStep& step) {
  size_t row = 0;
  for (const RowRange& range : step.step.ranges()) {
    auto [order, is_new] = orders_.try_emplace(range.epoch, plan_.Epoch(range.epoch));
    EpochOrder::Walker walker(order->second, range.position);
    WindowRun run;
    for (uint64_t left = range.rows; left > 0 && walker.Next(left, run); left -= run.rows) {
      for (uint32_t i = 0; i < run.rows; ++i, ++row) {
        if (slots_[step.slot][row] != Location{run.window, run.first_row + i}) {
          return Violate(absl::StrCat("step ", step.index, " row ", row, " holds another row"));
        }
      }
    }
  }
  if (row != step.step.rank_rows) Violate("a step of the wrong size");
}

void FakeFleet::Violate(const std::string& what) {
  if (violation_.empty()) violation_ = absl::StrCat(what, ", seed ", options_.seed);
}

}  // namespace penstock
