// Parses what a user writes to say where the servers are.
#ifndef PENSTOCK_CLIENT_SERVERS_SERVER_LIST_H_
#define PENSTOCK_CLIENT_SERVERS_SERVER_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The server list that means: decode in this process.
inline constexpr absl::string_view kLocalServer = "local:";

struct ServerTerm {
  enum class Kind { kLocal, kAddress, kDns, kPath };
  Kind kind = Kind::kAddress;
  std::string text = {};  // The term as the user wrote it.
  std::string host = {};  // Only for kDns.
  uint16_t port = 0;      // Only for kDns.
  std::string path = {};  // Only for kPath.

  // Whether the term names servers that come and go.
  bool is_live() const { return kind == Kind::kDns || kind == Kind::kPath; }
};

// Parses "local:" alone, or a list, separated by commas, of
//   HOST:PORT          one server; [ADDRESS]:PORT for IPv6
//   dns:///HOST:PORT   every address of the name
//   file:PATH          what the file, or the files of the folder, name; no comma in PATH
// kInvalidArgument: anything else, a term that is named twice, or local: among others.
absl::StatusOr<std::vector<ServerTerm>> ParseServerList(absl::string_view servers);

// Returns OK if `address` is HOST:PORT with a port of at least 1. Otherwise returns
// kInvalidArgument, naming `address`.
absl::Status CheckServerAddress(absl::string_view address);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SERVERS_SERVER_LIST_H_
