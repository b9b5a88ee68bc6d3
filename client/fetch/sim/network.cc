#include "client/fetch/sim/network.h"

#include <algorithm>

namespace penstock::sim {
namespace {

// Occupies a card for `time`, from `start` on. Returns when it is done.
absl::Time Occupy(std::vector<absl::Time>& cards, uint32_t index, absl::Time start,
                  absl::Duration time) {
  if (cards.size() <= index) cards.resize(index + 1, absl::InfinitePast());
  return cards[index] = std::max(cards[index], start) + time;
}

}  // namespace

void Network::Send(Session& session, Direction direction, uint64_t bytes,
                   EventQueue::Action arrive) {
  absl::Time sent = queue_.now();
  if (direction == Direction::kToClient) sent = Transfer(session, bytes);
  absl::Time& last = session.last_arrival[static_cast<size_t>(direction)];
  last = std::max(last, sent + options_.latency + rng_.Uniform() * options_.jitter);
  if (cuts_.empty()) return queue_.At(last, std::move(arrive));
  queue_.At(last, [this, rank = session.rank, server = session.server, direction,
                   arrive = std::move(arrive)]() mutable {
    Arrive(rank, server, direction, std::move(arrive));
  });
}

// Only answers occupy the cards, because requests are small.
absl::Time Network::Transfer(Session& session, uint64_t bytes) {
  bytes_to_clients_ += bytes;
  const double size = static_cast<double>(bytes);
  const absl::Time left = Occupy(server_free_, session.server, queue_.now(),
                                 absl::Seconds(size / options_.server_bytes_per_second));
  return Occupy(rank_free_, session.rank, left,
                absl::Seconds(size / options_.rank_bytes_per_second));
}

void Network::Arrive(uint32_t rank, uint32_t server, Direction direction,
                     EventQueue::Action arrive) {
  const auto link = cuts_.find({rank, server});
  if (link != cuts_.end() && link->second.cut[static_cast<size_t>(direction)]) {
    link->second.waiting.push_back(std::move(arrive));
  } else {
    arrive();
  }
}

void Network::Cut(uint32_t rank, uint32_t server, Direction direction) {
  cuts_[{rank, server}].cut[static_cast<size_t>(direction)] = true;
}

void Network::Heal(uint32_t rank, uint32_t server) {
  const auto link = cuts_.find({rank, server});
  if (link == cuts_.end()) return;
  link->second.cut = {false, false};
  for (EventQueue::Action& arrive : std::exchange(link->second.waiting, {})) {
    queue_.At(queue_.now(), std::move(arrive));
  }
}

bool Network::IsCut(uint32_t rank, uint32_t server) const {
  const auto link = cuts_.find({rank, server});
  return link != cuts_.end() && (link->second.cut[0] || link->second.cut[1]);
}

}  // namespace penstock::sim
