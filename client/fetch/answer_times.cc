#include "client/fetch/answer_times.h"

#include <algorithm>

namespace penstock {

absl::Duration AnswerTimes::Recent::Longest() const {
  return *std::max_element(ring.begin(), ring.end());
}

void AnswerTimes::Add(uint32_t server, uint64_t bytes, absl::Duration time) {
  if (server >= servers_.size()) servers_.resize(server + 1);
  Recent& recent = servers_[server];
  // Zero means no sample, so a server that is ready and answers at the same moment counts as 1 ns.
  recent.ring[recent.count++ % recent.ring.size()] = std::max(time, absl::Nanoseconds(1));
  ++count_;
  mean_bytes_ += (static_cast<double>(bytes) - mean_bytes_) /
                 static_cast<double>(std::min<size_t>(count_, 64));
  if (count_ < refresh_at_) return;
  usual_ = Median({});
  refresh_at_ = count_ < 8 ? count_ + 1 : count_ + std::max<size_t>(8, servers_.size() / 8);
}

void AnswerTimes::Forget(uint32_t server) {
  if (server < servers_.size()) servers_[server] = Recent();
}

bool AnswerTimes::Knows(uint32_t server) const {
  return server < servers_.size() && servers_[server].count > 0;
}

absl::Duration AnswerTimes::Usual(uint64_t bytes) const { return Scaled(usual_, bytes); }

absl::Duration AnswerTimes::Usual(uint64_t bytes, std::span<const absl::Duration> ages) {
  return Scaled(Median(ages), bytes);
}

absl::Duration AnswerTimes::Median(std::span<const absl::Duration> ages) {
  longest_.clear();
  for (size_t i = 0; i < std::max(servers_.size(), ages.size()); ++i) {
    if (i < ages.size() && ages[i] == kLeftOut) continue;
    absl::Duration longest = i < servers_.size() ? servers_[i].Longest() : absl::ZeroDuration();
    if (i < ages.size()) longest = std::max(longest, ages[i]);
    if (longest > absl::ZeroDuration()) longest_.push_back(longest);
  }
  if (longest_.empty()) return absl::ZeroDuration();
  const auto median = longest_.begin() + static_cast<ptrdiff_t>((longest_.size() - 1) / 2);
  std::nth_element(longest_.begin(), median, longest_.end());
  return *median;
}

absl::Duration AnswerTimes::Scaled(absl::Duration time, uint64_t bytes) const {
  const auto wanted = static_cast<double>(bytes);
  return wanted > mean_bytes_ && mean_bytes_ > 0 ? time * (wanted / mean_bytes_) : time;
}

}  // namespace penstock
