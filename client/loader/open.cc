// Loader::Open(): from names of servers to transports.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/loader/loader_thread.h"
#include "client/transport/grpc/grpc_transport.h"
#include "client/transport/local/local_transport.h"
#include "records/base/status.h"

namespace penstock {
namespace {

absl::Status CheckAddress(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("server '", address, "' is neither HOST:PORT nor local:"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Transport>> MakeLocal(const LoaderOptions& options) {
  EngineOptions engine;
  engine.data_root = options.data_root.empty() ? options.manifest->base_dir() : options.data_root;
  if (engine.data_root.empty()) engine.data_root = ".";
  engine.threads = options.local_threads;
  engine.memory_budget = options.local_memory_budget;
  return MakeLocalTransport(engine);
}

absl::StatusOr<std::vector<std::unique_ptr<Transport>>> MakeTransports(
    const LoaderOptions& options) {
  std::vector<std::unique_ptr<Transport>> transports;
  const std::set<std::string> addresses = absl::StrSplit(options.servers, ',', absl::SkipEmpty());
  if (addresses.empty()) return absl::InvalidArgumentError("no servers: give HOST:PORT or local:");
  for (const std::string& address : addresses) {
    if (address == "local:" && addresses.size() > 1) {
      return absl::InvalidArgumentError("local: stands alone: it needs no other server");
    }
    if (address == "local:") {
      PENSTOCK_ASSIGN_OR_RETURN(transports.emplace_back(), MakeLocal(options));
      continue;
    }
    PENSTOCK_RETURN_IF_ERROR(CheckAddress(address));
    transports.push_back(MakeGrpcTransport(address));
  }
  return transports;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loader>> Loader::Open(LoaderOptions options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_ASSIGN_OR_RETURN(auto transports, MakeTransports(options));
  return OpenLoader(std::move(options), std::move(transports));
}

}  // namespace penstock
