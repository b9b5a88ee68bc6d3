// A loader over transports of the caller's: for tests that put something else in their place.
#ifndef PENSTOCK_CLIENT_LOADER_OPEN_WITH_TRANSPORTS_H_
#define PENSTOCK_CLIENT_LOADER_OPEN_WITH_TRANSPORTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/loader/loader.h"
#include "client/transport/transport.h"

namespace penstock {

// As Loader::Open(), but options.servers and what concerns "local:" are ignored. The addresses of
// the transports differ.
absl::StatusOr<std::unique_ptr<Loader>> OpenWithTransports(
    LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_OPEN_WITH_TRANSPORTS_H_
