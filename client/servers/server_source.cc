#include "client/servers/server_source.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "client/servers/dns_look.h"
#include "client/servers/looking_source.h"
#include "client/servers/mixed_source.h"
#include "client/servers/path_look.h"
#include "client/servers/server_list.h"

namespace penstock {
namespace {

class FixedSource final : public ServerSource {
 public:
  explicit FixedSource(std::vector<std::string> addresses) {
    set_.addresses = std::move(addresses);
    std::sort(set_.addresses.begin(), set_.addresses.end());
  }
  absl::Status Start(OnSet on_set) override {
    on_set(set_);
    return absl::OkStatus();
  }
  void Refresh() override {}

 private:
  ServerSet set_;
};

LookTimes TimesOf(absl::Duration every, const ServerSourceOptions& options) {
  return {every, std::min(every, options.retry_every), options.refresh_gap};
}

std::unique_ptr<ServerSource> MakeSource(const ServerTerm& term,
                                         const ServerSourceOptions& options) {
  if (term.kind == ServerTerm::Kind::kDns) {
    auto resolver = options.resolver != nullptr ? options.resolver : MakeSystemResolver();
    return std::make_unique<LookingSource>(
        std::make_unique<DnsLook>(term.host, term.port, std::move(resolver)),
        TimesOf(options.resolve_every, options));
  }
  return std::make_unique<LookingSource>(std::make_unique<PathLook>(term.path),
                                         TimesOf(options.look_at_path_every, options));
}

}  // namespace

std::unique_ptr<ServerSource> MakeFixedServers(std::vector<std::string> addresses) {
  return std::make_unique<FixedSource>(std::move(addresses));
}

absl::StatusOr<std::unique_ptr<ServerSource>> MakeServerSource(absl::string_view servers,
                                                               const ServerSourceOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<ServerTerm> terms, ParseServerList(servers));
  std::vector<std::string> fixed;
  std::vector<std::unique_ptr<ServerSource>> sources;
  for (const ServerTerm& term : terms) {
    if (term.is_live()) {
      sources.push_back(MakeSource(term, options));
    } else {
      fixed.push_back(term.text);
    }
  }
  // Put them first, so that they are reported before the others can be.
  if (!fixed.empty()) sources.insert(sources.begin(), MakeFixedServers(std::move(fixed)));
  if (sources.size() == 1) return std::move(sources.front());
  return std::make_unique<MixedSource>(std::move(sources));
}

}  // namespace penstock
