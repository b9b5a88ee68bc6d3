#include "client/servers/known_servers.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<KnownServers>> KnownServers::Follow(absl::string_view servers) {
  std::unique_ptr<KnownServers> known(new KnownServers(servers));
  PENSTOCK_ASSIGN_OR_RETURN(known->source_, MakeServerSource(servers));
  PENSTOCK_RETURN_IF_ERROR(known->source_->Start([&known = *known](const ServerSet& set) {
    MutexLock lock(&known.mutex_);
    known.set_ = set;
    known.changed_.NotifyAll();
  }));
  return known;
}

ServerSet KnownServers::Now() {
  MutexLock lock(&mutex_);
  ServerSet now = set_;
  if (!now.complete && now.problem.ok()) {
    now.problem = absl::UnavailableError(
        absl::StrCat(servers_, ": the look-up of its names and files has not finished"));
  }
  return now;
}

absl::StatusOr<ServerSet> KnownServers::WaitForFirst(absl::Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
  {
    MutexLock lock(&mutex_);
    while ((set_.addresses.empty() || !set_.complete) && changed_.WaitUntil(&mutex_, deadline)) {
      continue;
    }
  }
  ServerSet now = Now();
  if (!now.addresses.empty()) return now;
  return absl::UnavailableError(absl::StrCat(
      "no server was found within ", absl::FormatDuration(timeout), ": ", now.problem.message()));
}

}  // namespace penstock
