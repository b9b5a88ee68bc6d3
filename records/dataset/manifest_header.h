// Reads the size of a manifest file from its first bytes.
#ifndef PENSTOCK_RECORDS_DATASET_MANIFEST_HEADER_H_
#define PENSTOCK_RECORDS_DATASET_MANIFEST_HEADER_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"

namespace penstock {

// Returns the size in bytes that the header at the front of `first` gives for the file, or nullopt
// if more bytes are needed. Errors are those of Manifest::Parse(), as far as the header shows them.
absl::StatusOr<std::optional<uint64_t>> ManifestFileSize(std::span<const uint8_t> first);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_MANIFEST_HEADER_H_
