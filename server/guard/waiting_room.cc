#include "server/guard/waiting_room.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

constexpr size_t kMostTurnsKept = 1024;

bool HasClosed(int connection) {
  char byte;
  return recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

bool WaitingRoom::Add(Arrival arrival) {
  std::deque<Arrival>& of_host = hosts_[arrival.name.host];
  of_host.push_back(std::move(arrival));
  ++size_;
  if (size_ <= most_) return true;
  const auto fullest = std::max_element(
      hosts_.begin(), hosts_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  fullest->second.pop_front();
  --size_;
  if (fullest->second.empty()) hosts_.erase(fullest);
  return false;
}

std::optional<Arrival> WaitingRoom::TakeTurn(
    const std::function<bool(const std::string& host)>& has_place) {
  while (true) {
    const auto host = NextHost(has_place);
    if (host == hosts_.end()) return std::nullopt;
    Arrival arrival = Take(host->second);
    --size_;
    if (host->second.empty()) hosts_.erase(host);
    if (HasClosed(arrival.connection.get())) continue;
    NoteTurn(arrival.name.host);
    return arrival;
  }
}

Arrival WaitingRoom::Take(std::deque<Arrival>& of_host) {
  takes_newest_ = !takes_newest_;
  Arrival taken = std::move(takes_newest_ ? of_host.back() : of_host.front());
  if (takes_newest_) {
    of_host.pop_back();
  } else {
    of_host.pop_front();
  }
  return taken;
}

WaitingRoom::Hosts::iterator WaitingRoom::NextHost(
    const std::function<bool(const std::string& host)>& has_place) {
  auto next = hosts_.end();
  uint64_t turn_of_next = UINT64_MAX;
  for (auto at = hosts_.begin(); at != hosts_.end(); ++at) {
    const auto last = last_turns_.find(at->first);
    const uint64_t turn = last == last_turns_.end() ? 0 : last->second;
    if (turn >= turn_of_next || !has_place(at->first)) continue;
    next = at;
    turn_of_next = turn;
  }
  return next;
}

void WaitingRoom::NoteTurn(const std::string& host) {
  last_turns_[host] = ++num_turns_;
  if (last_turns_.size() <= kMostTurnsKept) return;
  last_turns_.erase(
      std::min_element(last_turns_.begin(), last_turns_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; }));
}

void WaitingRoom::Clear() {
  hosts_.clear();
  size_ = 0;
}

}  // namespace penstock
