// The flags that say where batches come from, in which order and how: of every program with a
// Loader. Flags whose defaults differ between programs (--dtype, --seed, the batch) are their own.
#ifndef PENSTOCK_CLIENT_FLAGS_SOURCE_FLAGS_H_
#define PENSTOCK_CLIENT_FLAGS_SOURCE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "client/flags/network_flags.h"
#include "client/loader/loader.h"

namespace penstock {

// As on the command line, where nothing has been parsed further.
struct SourceFlags {
  std::string servers = "local:";
  std::string data_root;
  std::string spec;  // For LoadNamedSpec() and ChooseSpec().
  bool no_shuffle = false;
  uint32_t lanes = 64;
  uint32_t window_chunks = 16;
  uint32_t strip_rows = 0;
  std::string remainder = "drop";
  std::string look_ahead = "0";
  std::string server_timeout = "30s";
  std::string on_error = "fail";
  bool checksums = false;
  bool no_shm = false;
  uint32_t connections = 0;
  NetworkFlags network;
};

// Adds the dataset, which is given as a positional argument or by --manifest. `manifest` must
// outlive `app`. Whether it was given is CheckManifestFlag()'s to say.
CLI::Option* AddManifestFlag(CLI::App& app, std::string& manifest);

// kInvalidArgument: no dataset was given.
absl::Status CheckManifestFlag(const std::string& manifest);

// `flags` must outlive `app`.
void AddSourceFlags(CLI::App& app, SourceFlags& flags);

// The same but for the flags of the order and of what an epoch leaves out: of programs that read
// every record once.
void AddOneReadFlags(CLI::App& app, SourceFlags& flags);

// Fills in what `flags` say, but the spec. Reads no file. kInvalidArgument names the flag.
absl::Status FillLoaderOptions(const SourceFlags& flags, LoaderOptions& options);

// What FillLoaderOptions() did not look at, beneath `options` that it filled in:
// CheckNetworkFiles() of servers, and a data root that servers have no use for is added to
// `warnings`.
absl::Status CheckSource(const LoaderOptions& options, std::vector<std::string>& warnings);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FLAGS_SOURCE_FLAGS_H_
