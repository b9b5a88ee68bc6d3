// Limits for a server that is asked for a manifest.
#ifndef PENSTOCK_CLIENT_TRANSPORT_MANIFEST_LIMITS_H_
#define PENSTOCK_CLIENT_TRANSPORT_MANIFEST_LIMITS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace penstock {

struct ManifestLimits {
  // Time limit for the first bytes, and again for each MiB. So the number of bytes that a call
  // delivers bounds its time.
  absl::Duration silence = absl::Seconds(5);
  // 1 GiB, enough for 30 million chunks.
  uint64_t max_bytes = uint64_t{1} << 30;
  // Returns the total number of bytes, given the first ones, or nullopt if it needs more of them.
  // An error ends the call, and so do more bytes than the total. May be null; then the total is
  // known only at the end.
  std::function<absl::StatusOr<std::optional<uint64_t>>(std::span<const uint8_t>)> total = nullptr;
  // Called before a call, several times a second during it, and after it has failed. An error ends
  // the call. May be null.
  std::function<absl::Status()> check = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_MANIFEST_LIMITS_H_
