// Queues windows by what they wait for: a time, a server, room on a stream, or more rows.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/fetch/fetcher.h"
#include "client/fetch/window_choice.h"

namespace penstock {
namespace {

// A server that lacks the memory for all its requested windows is asked again after these times.
constexpr absl::Duration kWhileOthersAreRead = absl::Milliseconds(250);
constexpr absl::Duration kWhileOneMakesRoom = absl::Milliseconds(50);
constexpr absl::Duration kWhileReadAhead = absl::Seconds(1);
// Minimum time between two reports about first spares. If no record can be decoded, each window
// that is read ahead needs one.
constexpr absl::Duration kFirstSpareReports = absl::Seconds(10);

// A window may try thousands of spares. This reports only the first one, unless a report came just
// before, and the last one, when the window is done.
void ReportSpare(FetchActions& actions, WindowEntry& window) {
  const uint32_t spare = *window.spare();
  const uint32_t passed = window.spares - 1;
  window.untold_spares = 0;
  actions.Report(absl::StrCat(
      WindowName(window.id),
      passed == 0   ? " has no good record"
      : passed == 1 ? " and the chunk after it have no good record"
                    : absl::StrCat(" and the ", passed, " chunks after it have no good record"),
      ". The first good record of ", actions.NameChunks(std::span(&spare, 1)),
      " replaces all rows of the window"));
}

// `status` is what the server says about the last spare. Without `damage`, no bytes are damaged.
absl::Status NoSpareLeft(const WindowEntry& window, const ServerEntry& server,
                         const absl::Status& status, bool damage) {
  const std::string said = absl::StrCat(" (", server.shown_address(), ": ", status.message(), ")");
  if (damage) {
    return absl::DataLossError(absl::StrCat(
        WindowName(window.id), " has no good record, and no other chunk of the epoch has one", said,
        ". Restore the shards, or index again with --exclude-corrupt"));
  }
  return absl::DataLossError(
      absl::StrCat("the decode spec (--spec) does not fit these records: no record of ",
                   WindowName(window.id), " or of any other chunk of the epoch can be decoded",
                   said, ". No bytes are damaged. Give a spec that fits the records"));
}

}  // namespace

WindowEntry& Fetcher::NewWindow(WindowId id, std::shared_ptr<const EpochOrder> order,
                                uint64_t bytes, uint64_t start) {
  WindowEntry& window = windows_.New();
  window.id = id;
  window.order = std::move(order);
  window.rows = window.order->WindowRows(id);
  window.bytes = bytes;
  window.start = start;
  Requeue(window);
  return window;
}

void Fetcher::Want(WindowEntry& window, const Range& range) {
  const bool first = window.wanted.empty();
  window.wanted.PushBack(range);
  window.wanted_rows += range.rows;
  const bool was_waiting = window.queued.heap == &waiting_;
  if (first || (was_waiting && window.wanted_rows >= limits_.rows)) Requeue(window);
}

void Fetcher::WalkedPast(WindowEntry& window) {
  window.walked_past = true;
  if (window.queued.heap == &waiting_) Requeue(window);
  ReleaseIfDone(window);
}

// Whether the window's rows are worth a request. A newcomer without requests is asked even for a
// few rows.
bool Fetcher::WorthARequest(const WindowEntry& window) const {
  const ServerEntry& server = servers_[window.opened_on->server];
  return window.wanted_rows >= limits_.rows || window.walked_past ||
         window.wanted.front().step < slots_.Soon() ||
         (server.newcomer && server.outstanding_requests == 0);
}

void Fetcher::Requeue(WindowEntry& window) {
  IndexedHeap<WindowEntry>::Leave(window);
  if (window.retry_at > clock_.now()) {
    const int64_t key = absl::ToUnixNanos(window.retry_at);
    return delayed_.Push(static_cast<uint64_t>(std::max<int64_t>(key, 0)), window);
  }
  if (window.suspect) return suspects_.Add(window);
  if (!window.opened_on) {
    const std::optional<uint32_t> index = placement_.ServerOf(window.id, window.avoid);
    if (!index) return;  // The window waits until lanes are placed.
    // Windows whose rows are wanted come first, so that the others do not take their room.
    const uint64_t idle = window.wanted.empty() ? uint64_t{1} << 63 : 0;
    servers_[*index].to_open.Push(window.NeededAt() | idle, window);
    return MarkForPump(servers_[*index]);
  }
  if (window.wanted.empty()) return;
  ServerEntry& server = servers_[window.opened_on->server];
  if (!WorthARequest(window)) return waiting_.Push(window.NeededAt(), window);
  server.eligible.Push(window.NeededAt(), window);
  MarkForPump(server);
}

void Fetcher::OpenOn(ServerEntry& server, WindowEntry& window) {
  window.opened_on = servers_.stream(server.index);
  window.opened_at = clock_.now();
  window.ready_at = absl::InfiniteFuture();
  window.asked = false;
  ++server.open_windows;
  if (!std::exchange(window.counted, true)) extra_loads_.Earn(placement_.PlaceOf(window.id));
  server.NoteIdle(window.IdleOrder());
  actions_.OpenWindow(*window.opened_on, {window.number, window.id, window.order, window.NeededAt(),
                                          damage_.agreed(), window.spare()});
  Requeue(window);
}

// A window that is needed now may take the place of the window that is needed last. Windows whose
// rows are not wanted yet make room first.
bool Fetcher::MakeRoomFor(ServerEntry& server, const WindowEntry& window) {
  if (server.open_windows < limits_.max_open_windows) return true;
  if (window.wanted.empty()) return false;
  if (server.last_idle <= window.IdleOrder()) return false;
  const StreamId stream = servers_.stream(server.index);
  WindowEntry* last = nullptr;
  windows_.ForEach([&](WindowEntry& other) {
    if (!(other.opened_on == stream) || other.requests > 0) return;
    if (last == nullptr || other.IdleOrder() > last->IdleOrder()) last = &other;
  });
  server.last_idle = last == nullptr ? std::pair(false, uint64_t{0}) : last->IdleOrder();
  if (server.last_idle <= window.IdleOrder()) return false;
  TakeAway(*last);
  Requeue(*last);
  return true;
}

// Makes the rows of the window that were requested from the server wanted again.
void Fetcher::CancelOn(ServerEntry& server, WindowEntry& window) {
  const StreamId stream = servers_.stream(server.index);
  for (RequestEntry* request = server.first_request; request != nullptr;) {
    RequestEntry& current = *std::exchange(request, request->later);
    if (current.window != &window) continue;
    actions_.Cancel(stream, current.number);
    server.cancelled_rows += current.rows_missing;
    ReturnClaims(current, /*broken=*/false);
    EndRequest(current);
  }
}

// Takes the window from its server. The window gets a new number, so that no late message about the
// old one is taken to mean it.
void Fetcher::TakeAway(WindowEntry& window) {
  const StreamId stream = *window.opened_on;
  ServerEntry& server = servers_[stream.server];
  CancelOn(server, window);
  actions_.ReleaseWindow(stream, window.number);
  window.opened_on.reset();
  --server.open_windows;
  windows_.Renumber(window);
  MarkForPump(server);
}

void Fetcher::ReleaseIfDone(WindowEntry& window) {
  if (!window.done()) return;
  if (!window.doubts.empty()) damage_.ReportDoubts(window);
  if (window.untold_spares > 0) ReportSpare(actions_, window);
  if (window.opened_on) {
    actions_.ReleaseWindow(*window.opened_on, window.number);
    ServerEntry& server = servers_[window.opened_on->server];
    --server.open_windows;
    MarkForPump(server);
  }
  if (suspects_.window() == &window) EndQuarantine();
  suspects_.Forget(window);
  IndexedHeap<WindowEntry>::Leave(window);
  windows_.Free(window);
}

// Handles a window that the server could not give: the rows requested from it are wanted again.
void Fetcher::GiveUpOn(WindowEntry& window, StreamId stream) {
  if (window.opened_on == stream) {
    TakeAway(window);
  } else {
    CancelOn(servers_[stream.server], window);
  }
  Requeue(window);
}

// Makes the window avoid this server. Returns true if every server has had its turn. Then the turns
// begin anew.
bool Fetcher::AskAnother(const ServerEntry& server, WindowEntry& window) {
  window.Avoid(server.index);
  const bool all = placement_.NoOtherThan(server, window.id, window.avoid);
  if (all) window.avoid.assign(1, server.index);
  return all;
}

// The choice depends on the epoch's order and on the damage, not on which server reports first, so
// all ranks choose the same chunk. A chunk that is known to have no good record is not asked for.
// If the window was opened elsewhere since, the server's message may be about an earlier spare.
absl::Status Fetcher::TakeNextSpare(WindowEntry& window, StreamId stream,
                                    const absl::Status& status) {
  if (!(window.opened_on == stream)) {
    GiveUpOn(window, stream);
    return absl::OkStatus();
  }
  do {
    ++window.spares;
    ++window.untold_spares;
  } while (window.spare() && damage_.HasNoGoodRecord(*window.spare()));
  if (!window.spare()) {
    return NoSpareLeft(window, servers_[stream.server], status,
                       /*damage=*/!damage_.agreed().empty());
  }
  if (window.untold_spares == window.spares && clock_.now() >= report_first_spare_at_) {
    report_first_spare_at_ = clock_.now() + kFirstSpareReports;
    ReportSpare(actions_, window);
  }
  GiveUpOn(window, stream);
  return absl::OkStatus();
}

// Windows that are read side by side must fit; those that are read ahead need not. So a window
// waits for those that are read before it. If there are none, a window that is read ahead makes
// room.
bool Fetcher::WaitsForMemory(const ServerEntry& server, const RequestEntry& refused) {
  WindowEntry& window = *refused.window;
  if (ReadsBefore(windows_, server, refused.stream, refused)) {
    window.retry_at = clock_.now() + kWhileOthersAreRead;
    return true;
  }
  WindowEntry* surplus = LastReadAhead(windows_, server, refused.stream, window);
  if (surplus == nullptr) return false;
  surplus->retry_at = clock_.now() + kWhileReadAhead;
  GiveUpOn(*surplus, refused.stream);
  window.retry_at = clock_.now() + kWhileOneMakesRoom;
  return true;
}

void Fetcher::CountFailure(ServerEntry& server, WindowEntry& window) {
  ++server.failures;
  if (window.failures++ == 0) {
    window.turns = 0;
    window.failing_since = clock_.now();
  }
  window.turns += AskAnother(server, window);
}

}  // namespace penstock
