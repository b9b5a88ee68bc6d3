// What a client bears of a server that it asks for a manifest.
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
  // For the first bytes, and again for each MiB of them: how long a call lasts is bounded by what
  // it brings.
  absl::Duration silence = absl::Seconds(5);
  // 30 million chunks.
  uint64_t max_bytes = uint64_t{1} << 30;
  // How many bytes there are in all, by the first ones of them; absent: more are needed to know. An
  // error ends the call, and so do more bytes than that. Null: it is known at the end.
  std::function<absl::StatusOr<std::optional<uint64_t>>(std::span<const uint8_t>)> total = nullptr;
  // Asked before a call, several times a second while it lasts, and once it has failed; an error
  // ends it. Null: nothing does.
  std::function<absl::Status()> check = nullptr;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_MANIFEST_LIMITS_H_
