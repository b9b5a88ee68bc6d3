// The flags that say where batches come from, in which order and how. Every program with a Loader
// has them. Flags whose defaults differ between programs (--dtype, --seed, the batch size) belong
// to the programs.
#ifndef PENSTOCK_CLIENT_FLAGS_SOURCE_FLAGS_H_
#define PENSTOCK_CLIENT_FLAGS_SOURCE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/flags/network_flags.h"
#include "client/loader/loader.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock {

// The values given on the command line, not parsed further.
struct SourceFlags {
  std::string servers = "local:";
  std::string data_root;
  std::string spec;  // Given to LoadNamedSpec() and ChooseSpec().
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
// outlive `app`. CheckManifestFlag() tells whether it was given.
CLI::Option* AddManifestFlag(CLI::App& app, std::string& manifest);

// kInvalidArgument: no dataset was given.
absl::Status CheckManifestFlag(const std::string& manifest);

// kNotFound: `manifest` is a path at which there is nothing. server:PATH is not checked.
absl::Status CheckManifestExists(const std::string& manifest);

// `flags` must outlive `app`. Sets the group of the options that are added next.
void AddSourceFlags(CLI::App& app, SourceFlags& flags);

// Like AddSourceFlags(), but without the flags of the order and of the remainder: for programs that
// read every record once. `flags` must outlive `app`.
void AddOneReadFlags(CLI::App& app, SourceFlags& flags);

// Fills in the options that `flags` give, except the spec. Reads no file. kInvalidArgument: a flag
// is wrong; the message names it.
absl::Status FillLoaderOptions(const SourceFlags& flags, LoaderOptions& options);

// Checks what FillLoaderOptions() did not: with servers, the files of CheckNetworkFiles(). Adds a
// line to `warnings` if there is a data root, which servers ignore. `options` are those that
// FillLoaderOptions() filled in.
absl::Status CheckSource(const LoaderOptions& options, std::vector<std::string>& warnings);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FLAGS_SOURCE_FLAGS_H_
