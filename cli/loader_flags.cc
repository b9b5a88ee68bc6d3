#include "cli/loader_flags.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/command.h"
#include "cli/number_flags.h"
#include "client/servers/server_list.h"
#include "client/transport/grpc/server_channel.h"
#include "records/base/byte_size.h"
#include "records/base/status.h"
#include "records/base/timeout.h"
#include "records/dataset/split.h"
#include "records/decode/spec.h"
#include "records/tls/pem_files.h"

namespace penstock {
namespace {

// What a flag's value was refused for is wrong usage.
template <typename T>
absl::StatusOr<T> AsUsage(absl::string_view flag, absl::StatusOr<T> value) {
  return value.ok() ? std::move(value)
                    : UsageError(absl::StrCat(flag, ": ", value.status().message()));
}

absl::StatusOr<Remainder> ParseRemainder(const std::string& name) {
  if (name == "drop") return Remainder::kDrop;
  if (name == "short") return Remainder::kShort;
  return Remainder::kCarry;
}

// What is wrong with the files altogether is an error of the loader's.
void WarnOfFiles(const TlsOptions& files) {
  absl::StatusOr<PemTexts> texts = LoadPemFiles(
      {.cert = files.cert_file, .key = files.key_file, .ca = files.ca_file}, absl::Now());
  if (!texts.ok()) return;
  for (const std::string& warning : texts->warnings) {
    std::fprintf(stderr, "penstock: %s\n", warning.c_str());
  }
}

}  // namespace

void AddLoaderFlags(CLI::App& command, LoaderFlags& flags) {
  command
      .add_option("manifest,--manifest", flags.manifest,
                  "MANIFEST, a DIR (it is indexed first), or server:PATH: the manifest at PATH\n"
                  "beneath the --data-root of --servers; server:DIR/ is DIR/manifest.pb\n"
                  "there, server: is manifest.pb")
      ->required()
      ->default_str("");
  command.add_option("--servers", flags.servers,
                     "local:, or a list of HOST:PORT, dns:///HOST:PORT (every address of the\n"
                     "name) and file:PATH (a file of addresses, or a folder of the files of\n"
                     "penstock-server --address-file); names and files are followed");
  command.add_option("--data-root", flags.data_root, "Folder of the shards for local:")
      ->default_str("the manifest's own");
  command.add_option("--spec", flags.spec, "A built-in decode spec or a textproto file");
  command.add_option("--dtype", flags.dtype, "What numeric tensors travel as")
      ->check(CLI::IsMember({"packed", "i8", "bf16", "f32", "f64"}));
  command.add_option("--split", flags.split, "Which records")
      ->check(CLI::IsMember({"train", "holdout", "all"}));
  command.add_option("--global-batch-size", flags.global_batch_size, "Rows of a step, all ranks");
  command.add_option("--remainder", flags.remainder, "Rows after an epoch's last full step")
      ->check(CLI::IsMember({"drop", "short", "carry"}));
  command.add_option("--seed", flags.seed, "Of the order");
  command.add_option("--epochs", flags.epochs, "0: without end");
  command.add_option("--steps", flags.steps, "Stop after so many steps; 0: no limit");
  command.add_option("--rank", flags.rank, "This rank");
  command.add_option("--world-size", flags.world_size, "Ranks altogether");
  command.add_flag("--no-shuffle", flags.no_shuffle, "File order");
  command.add_option("--cursor", flags.cursor, "Continue from a cursor that was printed");
  command.add_option("--lanes", flags.lanes, "L of the plan");
  command.add_option("--window-chunks", flags.window_chunks, "K of the plan");
  command.add_option("--strip-rows", flags.strip_rows, "S of the plan; 0: chosen from the data");
  command.add_option("--look-ahead", flags.look_ahead, "Memory for batches fetched ahead");
  command.add_option("--server-timeout", flags.server_timeout,
                     "Fail after so long without any server");
  command.add_flag("--checksums", flags.checksums,
                   "Verify a checksum of every part that servers send");
  command
      .add_option("--connections", flags.connections,
                  "To each server; 0: one, and a second when it is saturated")
      ->check(WholeNumber(0, NetworkOptions::kMaxConnections));
  command.add_flag("--no-shm", flags.no_shm,
                   "Take parts over gRPC even where a server offers shared memory");
  command
      .add_option("--on-error", flags.on_error,
                  "A record damaged since it was indexed, when two servers agree")
      ->check(CLI::IsMember({"fail", "replace"}));
  command.add_option("--threads", flags.threads, "local: only; 0: the cores of this process")
      ->check(WholeNumber(0, 1024));
  command.add_option("--memory-budget", flags.memory_budget,
                     "local: only, for chunks; 0: a quarter of the memory");
  AddNetworkFlags(command, flags);
}

void AddNetworkFlags(CLI::App& command, LoaderFlags& flags) {
  command.add_flag("--tls", flags.tls, "Speak TLS to servers");
  command
      .add_option("--tls-ca", flags.tls_files.ca_file,
                  "PEM file of who may sign a server's certificate")
      ->default_str("the system's roots");
  command.add_option("--tls-cert", flags.tls_files.cert_file,
                     "This client's certificate, for servers that want one");
  command.add_option("--tls-key", flags.tls_files.key_file, "The key of --tls-cert");
  command.add_option("--tls-server-name", flags.tls_files.server_name,
                     "Name in the servers' certificates, where it is not the address's host");
  command
      .add_option("--token-file", flags.token_file, "File of the bearer token that servers ask for")
      ->envname("PENSTOCK_TOKEN_FILE");
}

absl::StatusOr<NetworkOptions> ToNetworkOptions(const LoaderFlags& flags) {
  NetworkOptions network{.token_file = flags.token_file,
                         .shared_memory = !flags.no_shm,
                         .connections = flags.connections};
  const TlsOptions& files = flags.tls_files;
  if (flags.tls) {
    if (files.cert_file.empty() != files.key_file.empty()) {
      return UsageError("--tls-cert and --tls-key belong together");
    }
    WarnOfFiles(files);
    network.tls = files;
  } else if (!files.ca_file.empty() || !files.cert_file.empty() || !files.key_file.empty() ||
             !files.server_name.empty()) {
    return UsageError("--tls-ca, --tls-cert, --tls-key and --tls-server-name need --tls");
  }
  if (!flags.token_file.empty() && flags.servers != kLocalServer) {
    PENSTOCK_RETURN_IF_ERROR(AsUsage("--token-file", ReadTokenFile(flags.token_file)).status());
  }
  return network;
}

absl::StatusOr<LoaderOptions> ToLoaderOptions(const LoaderFlags& flags) {
  LoaderOptions options;
  options.servers = flags.servers;
  options.data_root = flags.data_root;
  PENSTOCK_ASSIGN_OR_RETURN(options.network, ToNetworkOptions(flags));
  PENSTOCK_ASSIGN_OR_RETURN(options.spec, LoadSpec(flags.spec));
  PENSTOCK_ASSIGN_OR_RETURN(options.dtype, AsUsage("--dtype", ParseWireDtype(flags.dtype)));
  PENSTOCK_ASSIGN_OR_RETURN(options.plan.split, AsUsage("--split", ParseSplit(flags.split)));
  PENSTOCK_ASSIGN_OR_RETURN(options.remainder, ParseRemainder(flags.remainder));
  options.plan.seed = flags.seed;
  options.plan.shuffle = !flags.no_shuffle;
  options.plan.lanes = flags.lanes;
  options.plan.window_chunks = flags.window_chunks;
  options.plan.strip_rows = flags.strip_rows;
  options.global_batch_size = flags.global_batch_size;
  options.epochs = flags.epochs;
  options.max_steps = flags.steps;
  options.rank = flags.rank;
  options.world_size = flags.world_size;
  if (!flags.cursor.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(options.start, AsUsage("--cursor", Cursor::Parse(flags.cursor)));
  }
  PENSTOCK_ASSIGN_OR_RETURN(options.look_ahead_bytes,
                            AsUsage("--look-ahead", ParseByteSize(flags.look_ahead)));
  PENSTOCK_ASSIGN_OR_RETURN(options.server_timeout,
                            AsUsage("--server-timeout", ParseTimeout(flags.server_timeout)));
  options.checksums = flags.checksums;
  options.on_error = flags.on_error == "replace" ? OnError::kReplace : OnError::kFail;
  options.local_threads = flags.threads;
  PENSTOCK_ASSIGN_OR_RETURN(options.local_memory_budget,
                            AsUsage("--memory-budget", ParseByteSize(flags.memory_budget)));
  return options;
}

}  // namespace penstock
