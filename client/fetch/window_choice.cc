#include "client/fetch/window_choice.h"

#include <map>
#include <utility>

namespace penstock {
namespace {

bool IsBefore(const WindowId& a, const WindowId& b) {
  return a.epoch != b.epoch ? a.epoch < b.epoch : a.index < b.index;
}

}  // namespace

bool ReadsBefore(NumberedTable<WindowEntry>& windows, const ServerEntry& server, StreamId stream,
                 const RequestEntry& refused) {
  const uint64_t needed_at = refused.ranges.front().needed_at;
  for (const RequestEntry* request = server.first_request; request != nullptr;
       request = request->later) {
    if (request == server.probe || request->window == refused.window) continue;
    if (request->ranges.front().needed_at < needed_at) return true;
  }
  bool found = false;
  windows.ForEach([&](const WindowEntry& other) {
    if (&other == refused.window || !(other.opened_on == stream) || !other.asked) return;
    found |= !other.wanted.empty() && other.wanted.front().needed_at < needed_at;
  });
  return found;
}

WindowEntry* LastReadAhead(NumberedTable<WindowEntry>& windows, const ServerEntry& server,
                           StreamId stream, const WindowEntry& window) {
  std::map<uint32_t, WindowId> lane_is_at;
  windows.ForEach([&](const WindowEntry& other) {
    auto [at, is_new] = lane_is_at.try_emplace(other.id.lane, other.id);
    if (!is_new && IsBefore(other.id, at->second)) at->second = other.id;
  });
  WindowEntry* last = nullptr;
  windows.ForEach([&](WindowEntry& other) {
    if (&other == &window || !(other.opened_on == stream) || !other.asked) return;
    if (server.probe != nullptr && server.probe->window == &other) return;
    if (lane_is_at.at(other.id.lane) == other.id) return;
    if (last == nullptr || IsBefore(last->id, other.id)) last = &other;
  });
  return last;
}

const WindowEntry* WindowToProbe(NumberedTable<WindowEntry>& windows, const LaneMap& placement,
                                 const ServerEntry& server) {
  if (!placement.placed()) return nullptr;
  const WindowEntry* chosen = nullptr;
  bool own = false;
  windows.ForEach([&](const WindowEntry& window) {
    if (window.suspect) return;
    const bool its = placement.FirstServerOf(window.id) == server.index;
    if (chosen != nullptr && std::pair(its, window.start) <= std::pair(own, chosen->start)) return;
    chosen = &window;
    own = its;
  });
  return chosen;
}

}  // namespace penstock
