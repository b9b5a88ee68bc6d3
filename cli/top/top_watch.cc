#include "cli/top/top_watch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/process/start_thread.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr absl::Duration kLookTimeout = absl::Seconds(2);

}  // namespace

void TopWatch::Look() {
  const ServerSet set = servers_.Now();
  missing_ = set.problem;
  Follow(set.addresses);
  std::vector<absl::StatusOr<v1::ServerStats>> answers = AskAll();
  loads_.clear();
  for (auto& [address, server] : asked_) {
    absl::StatusOr<v1::ServerStats>& now = answers[loads_.size()];
    loads_.push_back(LoadBetween(address, server.answer, now));
    server.answer = std::move(now);
  }
}

absl::Status TopWatch::health() const {
  const auto down =
      std::ranges::count_if(loads_, [](const auto& load) { return !load.status.ok(); });
  if (down == 0) return Annotate(missing_, "servers may be missing");
  return absl::UnavailableError(
      absl::StrCat(down, " of ", loads_.size(), " servers did not answer"));
}

// Follows the set of servers. Those that left are no longer asked.
void TopWatch::Follow(const std::vector<std::string>& addresses) {
  std::map<std::string, Server> before = std::exchange(asked_, {});
  for (const std::string& address : addresses) {
    if (auto known = before.extract(address)) {
      asked_.insert(std::move(known));
    } else {
      asked_[address].caller = MakeStatsCaller(address, network_);
    }
  }
}

// Asks all at once, as far as threads are available, so that a server that does not answer delays
// no other.
std::vector<absl::StatusOr<v1::ServerStats>> TopWatch::AskAll() const {
  std::vector<absl::StatusOr<v1::ServerStats>> answers(asked_.size(), absl::UnknownError(""));
  std::vector<std::jthread> threads;
  auto answer = answers.begin();
  for (const auto& [address, server] : asked_) {
    const auto ask = [&caller = *server.caller, &into = *answer++] {
      into = caller.Ask(kLookTimeout);
    };
    auto thread = StartThread("that asks a server", ask);
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
    } else {
      ask();
    }
  }
  threads.clear();
  return answers;
}

}  // namespace penstock
