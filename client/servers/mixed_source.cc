#include "client/servers/mixed_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {
namespace {

// Adds `more` to `problem`, so that one status says both.
void AddProblem(const absl::Status& more, absl::Status& problem) {
  if (more.ok()) return;
  problem = problem.ok() ? more
                         : absl::Status(problem.code(),
                                        absl::StrCat(problem.message(), "; ", more.message()));
}

ServerSet Union(const std::vector<ServerSet>& sets) {
  ServerSet all;
  for (const ServerSet& set : sets) {
    all.addresses.insert(all.addresses.end(), set.addresses.begin(), set.addresses.end());
    AddProblem(set.problem, all.problem);
    all.complete = all.complete && set.complete;
  }
  std::sort(all.addresses.begin(), all.addresses.end());
  all.addresses.erase(std::unique(all.addresses.begin(), all.addresses.end()), all.addresses.end());
  return all;
}

}  // namespace

absl::Status MixedSource::Start(OnSet on_set) {
  on_set_ = std::move(on_set);
  for (size_t i = 0; i < sources_.size(); ++i) {
    PENSTOCK_RETURN_IF_ERROR(
        sources_[i]->Start([this, i](const ServerSet& set) { Update(i, set); }));
  }
  return absl::OkStatus();
}

void MixedSource::Refresh() {
  for (const auto& source : sources_) source->Refresh();
}

// Makes the call under the lock, so that a later set cannot overtake it.
void MixedSource::Update(size_t source, const ServerSet& set) {
  MutexLock lock(&mutex_);
  sets_[source] = set;
  on_set_(Union(sets_));
}

}  // namespace penstock
