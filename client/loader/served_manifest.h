// Manifests that lie on the servers, so that a trainer needs no shared disk.
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

// "server:PATH" is the file at PATH beneath the servers' data root; "server:", and a PATH that ends
// with a slash, mean the manifest.pb of that folder.
inline constexpr absl::string_view kServedPrefix = "server:";

// Whether `name`, given where a manifest is expected, is of that form.
bool IsServedManifest(absl::string_view name);

// kInvalidArgument: PATH is not one beneath a root, or `servers` cannot have it: it is "local:", or
// wrong in itself. REQUIRES: IsServedManifest(name).
absl::Status CheckServedManifest(absl::string_view name, absl::string_view servers);

// The manifest of that name, for options.manifest: its shards are where the servers find them.
// Asks the servers of options.servers one after the other, rank R the R-th first, over connections
// of options.network, until one answers with a manifest that is whole. Those that cannot be reached
// or are busy are asked again, those that appear are asked, too. Tells options.report who gave it.
//
// `check` is called several times a second; its error ends this. Errors name each server and cause:
//   kInvalidArgument  as CheckServedManifest()
//   kUnavailable      no server could be used for options.server_timeout
//   the first server's, when all of them refuse, have no such file, or one that is damaged
absl::StatusOr<std::shared_ptr<const Manifest>> FetchManifest(
    absl::string_view name, const LoaderOptions& options,
    std::function<absl::Status()> check = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_SERVED_MANIFEST_H_
