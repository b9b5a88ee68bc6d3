#include "client/loader/manifest_fetch.h"
#include "base/bytes_of.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace penstock {
namespace {

constexpr absl::Duration kMinPause = absl::Milliseconds(100);
constexpr absl::Duration kMaxPause = absl::Seconds(1);

// Whether the same server may have the manifest a moment later, because it starts, drains, or is
// busy.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

}  // namespace

absl::StatusOr<Manifest> ManifestFetch::Run(std::unique_ptr<ServerSource> source) {
  PENSTOCK_RETURN_IF_ERROR(source->Start([this](const ServerSet& set) {
    MutexLock lock(&mutex_);
    set_ = set;
    changed_.NotifyAll();
  }));
  began_ = alive_ = options_.now();
  absl::Duration pause = kMinPause;
  while (true) {
    const ServerSet known = Known();
    for (const std::string& address : InOrder(known)) {
      // However short the timeout is, the first server gets all the time it needs.
      const absl::Duration left = failures_.empty() ? absl::InfiniteDuration() : Left();
      if (left <= absl::ZeroDuration()) break;
      absl::StatusOr<Manifest> manifest = Ask(address, left);
      if (manifest.ok()) return manifest;
      if (options_.check != nullptr) PENSTOCK_RETURN_IF_ERROR(options_.check());
      OnFailure(address, manifest.status());
    }
    if (known.complete && !known.addresses.empty() && AllRefuse(known)) return Refused(known);
    if (options_.check != nullptr) PENSTOCK_RETURN_IF_ERROR(options_.check());
    const absl::Duration left = Left();
    if (left <= absl::ZeroDuration()) {
      return absl::UnavailableError(absl::StrCat("no server could be used for ",
                                                 absl::FormatDuration(options_.timeout), ": ",
                                                 Reasons(known)));
    }
    WaitForOthers(known, Clock::now() + absl::ToChronoNanoseconds(std::min(left, pause)));
    pause = std::min(2 * pause, kMaxPause);
  }
}

absl::Duration ManifestFetch::Left() const {
  return options_.timeout - absl::FromChrono(options_.now() - alive_);
}

void ManifestFetch::OnFailure(const std::string& address, absl::Status failure) {
  if (absl::IsResourceExhausted(failure)) {
    // Many ranks that start at once take turns, so it may take long until all of them have the
    // manifest.
    alive_ = options_.now();
    if (!told_of_wait_ && absl::FromChrono(alive_ - began_) > options_.timeout && options_.report) {
      told_of_wait_ = true;
      options_.report(
          absl::StrCat("still waiting for the manifest; retrying: ", failure.message()));
    }
  }
  failures_[address] = std::move(failure);
}

ServerSet ManifestFetch::Known() {
  MutexLock lock(&mutex_);
  return set_;
}

void ManifestFetch::WaitForOthers(const ServerSet& known, Clock::time_point deadline) {
  MutexLock lock(&mutex_);
  while (set_ == known && changed_.WaitUntil(&mutex_, deadline)) continue;
}

std::vector<std::string> ManifestFetch::InOrder(const ServerSet& set) const {
  std::vector<std::string> addresses = set.addresses;
  if (addresses.empty()) return addresses;
  // Many ranks start at once, and a server takes few such calls at a time.
  std::rotate(addresses.begin(), addresses.begin() + options_.first % addresses.size(),
              addresses.end());
  return addresses;
}

bool ManifestFetch::AllRefuse(const ServerSet& set) const {
  return std::all_of(set.addresses.begin(), set.addresses.end(), [this](const auto& address) {
    const auto failure = failures_.find(address);
    return failure != failures_.end() && !MayPass(failure->second);
  });
}

absl::StatusOr<Manifest> ManifestFetch::Ask(const std::string& address, absl::Duration patience) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string bytes, options_.ask(address, patience));
  absl::StatusOr<Manifest> manifest = Manifest::Parse(BytesOf(bytes));
  if (!manifest.ok()) return Annotate(manifest.status(), address);
  giver_ = address;
  return manifest;
}

std::string ManifestFetch::Reasons(const ServerSet& set) const {
  std::vector<std::string> reasons;
  for (const std::string& address : set.addresses) {
    const auto failure = failures_.find(address);
    reasons.push_back(failure != failures_.end() ? std::string(failure->second.message())
                                                 : absl::StrCat(address, ": not tried yet"));
  }
  if (reasons.empty()) reasons.push_back("the set of servers is empty");
  if (!set.problem.ok()) reasons.emplace_back(set.problem.message());
  return absl::StrJoin(reasons, "; ");
}

absl::Status ManifestFetch::Refused(const ServerSet& set) const {
  return absl::Status(failures_.at(set.addresses.front()).code(), Reasons(set));
}

std::string ManifestFetch::WhoGaveIt() const {
  std::string story = giver_;
  for (const auto& [address, failure] : failures_) {
    absl::StrAppend(&story, "; not from ", failure.message());
  }
  return story;
}

}  // namespace penstock
