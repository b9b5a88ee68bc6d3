// The flags that say what to read, in which order and from whom, as a trainer has them.
#ifndef PENSTOCK_CLI_LOADER_FLAGS_H_
#define PENSTOCK_CLI_LOADER_FLAGS_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "client/loader/loader.h"

namespace penstock {

struct LoaderFlags {
  std::string manifest;
  std::string servers = "local:";
  std::string data_root;
  std::string spec = "chess";
  std::string dtype = "i8";
  std::string split = "all";
  std::string remainder = "drop";
  std::string cursor;
  std::string look_ahead = "64MiB";
  std::string server_timeout = "30s";
  std::string on_error = "fail";
  std::string memory_budget = "0";
  bool tls = false;
  TlsOptions tls_files;
  std::string token_file;
  uint64_t global_batch_size = 512;
  uint64_t seed = 0;
  uint64_t epochs = 1;
  uint64_t steps = 0;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t lanes = 64;
  uint32_t window_chunks = 16;
  uint32_t strip_rows = 0;
  uint32_t threads = 0;
  bool no_shuffle = false;
  bool checksums = false;
  bool no_shm = false;
  uint32_t connections = 0;
};

// `flags` must outlive `command`.
void AddLoaderFlags(CLI::App& command, LoaderFlags& flags);

// --tls, --tls-ca, --tls-cert, --tls-key, --tls-server-name and --token-file: a part of the above.
void AddNetworkFlags(CLI::App& command, LoaderFlags& flags);
// UsageError() for files without --tls, a certificate without its key, or a token file that has no
// token; flags.servers that are local: need none.
absl::StatusOr<NetworkOptions> ToNetworkOptions(const LoaderFlags& flags);

// UsageError() for flags that do not fit together; everything but the manifest is filled in.
absl::StatusOr<LoaderOptions> ToLoaderOptions(const LoaderFlags& flags);

}  // namespace penstock

#endif  // PENSTOCK_CLI_LOADER_FLAGS_H_
