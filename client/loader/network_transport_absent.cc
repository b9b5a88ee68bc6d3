#include "absl/strings/str_cat.h"
#include "client/loader/transports.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<Transport>> MakeNetworkTransport(const std::string& address,
                                                                const NetworkOptions&) {
  return absl::UnimplementedError(
      absl::StrCat(address, ": this build has no gRPC; use servers local:"));
}

absl::StatusOr<std::string> AskForManifest(const std::string& address, const NetworkOptions&,
                                           const std::string&, const ManifestLimits&) {
  return absl::UnimplementedError(absl::StrCat(address, ": this build has no gRPC"));
}

}  // namespace penstock
