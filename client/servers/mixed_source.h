// Servers from several sources at once.
#ifndef PENSTOCK_CLIENT_SERVERS_MIXED_SOURCE_H_
#define PENSTOCK_CLIENT_SERVERS_MIXED_SOURCE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "client/servers/server_source.h"

namespace penstock {

// Reports the union of the sets of its sources, and their problems. Until each source has reported
// a set, it reports the sets of the others, marked as not complete. Thread-safe.
class MixedSource final : public ServerSource {
 public:
  explicit MixedSource(std::vector<std::unique_ptr<ServerSource>> sources)
      : sets_(sources.size(), ServerSet{{}, absl::OkStatus(), false}),
        sources_(std::move(sources)) {}

  absl::Status Start(OnSet on_set) override;
  void Refresh() override;

 private:
  void Update(size_t source, const ServerSet& set);

  OnSet on_set_;
  Mutex mutex_;
  std::vector<ServerSet> sets_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<ServerSource>> sources_;  // Last member: they call Update().
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_MIXED_SOURCE_H_
