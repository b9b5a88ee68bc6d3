#include "client/loader/served_manifest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/process/process_limits.h"
#include "base/status.h"
#include "client/loader/manifest_fetch.h"
#include "client/loader/transports.h"
#include "client/servers/server_list.h"
#include "client/servers/server_source.h"
#include "records/dataset/manifest_header.h"
#include "records/dataset/open_dataset.h"

namespace penstock {
namespace {

// The path beneath the servers' root.
std::string PathOf(absl::string_view name) {
  return ServedManifestPath(absl::StripPrefix(name, kServedPrefix));
}

}  // namespace

bool IsServedManifest(absl::string_view name) { return absl::StartsWith(name, kServedPrefix); }

absl::Status CheckServedManifest(absl::string_view name, absl::string_view servers) {
  if (absl::StartsWith(PathOf(name), "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": the path must be relative to the servers' --data-root; leave out the "
                     "leading /"));
  }
  if (servers == kLocalServer) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     " is a path on servers, but --servers is local:; name the servers, or "
                     "give a path on this machine"));
  }
  return ParseServerList(servers).status();
}

absl::StatusOr<std::shared_ptr<const Manifest>> FetchManifest(absl::string_view name,
                                                              const LoaderOptions& options,
                                                              std::function<absl::Status()> check) {
  PENSTOCK_RETURN_IF_ERROR(CheckServedManifest(name, options.servers));
  PENSTOCK_RETURN_IF_ERROR(CheckLimitsForGrpc());
  const std::string path = PathOf(name);
  ManifestFetchOptions fetch_options;
  fetch_options.ask = [&](const std::string& address, absl::Duration patience) {
    const absl::Duration silence = std::min(ManifestLimits{}.silence, patience);
    return AskForManifest(address, options.network, path,
                          {.silence = silence, .total = ManifestFileSize, .check = check});
  };
  fetch_options.first = options.rank;
  fetch_options.timeout = options.server_timeout;
  fetch_options.check = check;
  if (options.report) {
    fetch_options.report = [&](absl::string_view line) {
      options.report(absl::StrCat(name, ": ", line));
    };
  }
  ManifestFetch fetch(std::move(fetch_options));
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<ServerSource> source,
                            MakeServerSource(options.servers));
  absl::StatusOr<Manifest> manifest = fetch.Run(std::move(source));
  if (!manifest.ok()) return Annotate(manifest.status(), name);
  if (options.report) options.report(absl::StrCat(name, " came from ", fetch.WhoGaveIt()));
  // All paths are relative to the servers' root. Shards with absolute paths need servers whose root
  // is "/".
  manifest->MoveInto(absl::string_view(path).substr(0, path.rfind('/') + 1));
  manifest->set_base_dir("/");
  return std::make_shared<const Manifest>(*std::move(manifest));
}

}  // namespace penstock
