// Of servers that cannot have all windows in memory that they were asked for rows of.
#include <map>

#include "absl/strings/str_cat.h"
#include "client/fetch/scheduler.h"

namespace penstock {
namespace {

constexpr absl::Duration kWhileOthersAreRead = absl::Milliseconds(250);
constexpr absl::Duration kWhileOneMakesRoom = absl::Milliseconds(50);
constexpr absl::Duration kWhileReadAhead = absl::Seconds(1);
constexpr absl::Duration kTellStarvedEvery = absl::Minutes(1);

bool IsBefore(const WindowId& a, const WindowId& b) {
  return a.epoch != b.epoch ? a.epoch < b.epoch : a.index < b.index;
}

}  // namespace

// What is read side by side must fit; what is read ahead need not. So a window waits for those that
// are read before it, and pushes out what lies behind another window of the same lane.
bool FetchScheduler::WaitsForMemory(const ServerEntry& server, const RequestEntry& refused) {
  WindowEntry& window = *refused.window;
  if (ReadsBefore(server, refused)) {
    window.retry_at = now_ + kWhileOthersAreRead;
    return true;
  }
  WindowEntry* surplus = LastReadAhead(server, window);
  if (surplus == nullptr) return false;
  surplus->retry_at = now_ + kWhileReadAhead;
  GiveUpOn(*surplus, refused.stream);
  window.retry_at = now_ + kWhileOneMakesRoom;
  return true;
}

// It has said so itself: it is no less well for it.
void FetchScheduler::NoteStarved(ServerEntry& server) {
  server.starved_at = now_;
  if (now_ < server.told_starved_at + kTellStarvedEvery) return;
  server.told_starved_at = now_;
  actions_.Report(absl::StrCat(server.address,
                               ": has no memory for what this client reads while others read: "
                               "each waits for its turn (--memory-budget of penstock-server)"));
}

// Whether the server has windows of which rows are to come before those that it refused.
bool FetchScheduler::ReadsBefore(const ServerEntry& server, const RequestEntry& refused) {
  const uint64_t needed_at = refused.ranges.front().needed_at;
  for (const RequestEntry* request = server.first_request; request != nullptr;
       request = request->later) {
    if (request == server.probe || request->window == refused.window) continue;
    if (request->ranges.front().needed_at < needed_at) return true;
  }
  const StreamId stream = servers_.stream(server.index);
  bool found = false;
  windows_.ForEach([&](const WindowEntry& other) {
    if (&other == refused.window || !(other.opened_on == stream) || !other.asked) return;
    found |= !other.wanted.empty() && other.wanted.front().needed_at < needed_at;
  });
  return found;
}

// Of the windows that the server was asked for the one that is needed last, if its lane is at
// another one.
WindowEntry* FetchScheduler::LastReadAhead(const ServerEntry& server, const WindowEntry& window) {
  const StreamId stream = servers_.stream(server.index);
  std::map<uint32_t, WindowId> lane_is_at;
  windows_.ForEach([&](const WindowEntry& other) {
    auto [at, is_new] = lane_is_at.try_emplace(other.id.lane, other.id);
    if (!is_new && IsBefore(other.id, at->second)) at->second = other.id;
  });
  WindowEntry* last = nullptr;
  windows_.ForEach([&](WindowEntry& other) {
    if (&other == &window || !(other.opened_on == stream) || !other.asked) return;
    if (server.probe != nullptr && server.probe->window == &other) return;
    if (lane_is_at.at(other.id.lane) == other.id) return;
    if (last == nullptr || IsBefore(last->id, other.id)) last = &other;
  });
  return last;
}

}  // namespace penstock
