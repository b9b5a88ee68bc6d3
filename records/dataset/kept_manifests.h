// The manifests that penstock index --update replaced. A cursor belongs to the order of one
// manifest, so a training that began before the update needs the manifest of that time to resume.
#ifndef PENSTOCK_RECORDS_DATASET_KEPT_MANIFESTS_H_
#define PENSTOCK_RECORDS_DATASET_KEPT_MANIFESTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

// Returns the path under which the manifest at `path` is kept: "PATH.FINGERPRINT", with the 16
// hexadecimal digits of its content fingerprint.
std::string KeptManifestPath(const std::string& path, uint64_t content_fingerprint);

// Keeps the manifest at `path`, which has this fingerprint, and returns where. The same contents
// are kept once. Errors are those of AtomicFile.
absl::StatusOr<std::string> KeepManifest(const std::string& path, uint64_t content_fingerprint);

// Returns the manifests kept of the one at `path`, or of manifest.pb if `path` is a folder. The
// newest comes first.
std::vector<std::string> ListKeptManifests(const std::string& path);

// Removes those manifests and returns their number. Errors follow errno (ErrnoToStatus()).
absl::StatusOr<size_t> RemoveKeptManifests(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_KEPT_MANIFESTS_H_
