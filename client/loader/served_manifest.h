// Fetches manifests that are on the servers, so that a trainer needs no shared disk.
//
//   options.servers = "dns:///penstock:7070";
//   if (IsServedManifest(name)) {
//     PENSTOCK_ASSIGN_OR_RETURN(options.manifest, FetchManifest(name, options));
//   }
#ifndef PENSTOCK_CLIENT_LOADER_SERVED_MANIFEST_H_
#define PENSTOCK_CLIENT_LOADER_SERVED_MANIFEST_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/loader/loader.h"
#include "records/dataset/manifest.h"

namespace penstock {

// "server:PATH" is the file at PATH beneath the servers' data root. "server:", and a PATH that ends
// with a slash, mean the manifest.pb of that folder.
inline constexpr absl::string_view kServedPrefix = "server:";

// Whether `name`, given where a manifest is expected, begins with kServedPrefix.
bool IsServedManifest(absl::string_view name);

// kInvalidArgument: PATH is absolute, or `servers` cannot have it because it is "local:" or not a
// server list. REQUIRES: IsServedManifest(name).
absl::Status CheckServedManifest(absl::string_view name, absl::string_view servers);

// Fetches the manifest of that name, for options.manifest. Its shards are where the servers find
// them. Blocks.
//
// Asks the servers of options.servers one after the other, over connections of options.network,
// until one answers with a whole manifest. Rank R starts with the R-th server. Servers that cannot
// be reached or are busy are asked again, and servers that appear are asked too. Reports to
// options.report which server gave it.
//
// `check` is called several times a second; an error that it returns ends the fetch. Errors name
// each server and its cause:
//   kInvalidArgument  as CheckServedManifest()
//   kUnavailable      no server was usable for options.server_timeout
//   the first server's error, if all refuse, lack the file, or have a damaged one
absl::StatusOr<std::shared_ptr<const Manifest>> FetchManifest(
    absl::string_view name, const LoaderOptions& options,
    std::function<absl::Status()> check = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_SERVED_MANIFEST_H_
