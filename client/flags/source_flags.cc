#include "client/flags/source_flags.h"

#include "base/byte_size.h"
#include "base/flags/number_flags.h"
#include "base/status.h"
#include "base/timeout.h"
#include "client/loader/look_ahead.h"
#include "client/servers/server_list.h"

namespace penstock {
namespace {

void AddPlanFlags(CLI::App& app, SourceFlags& flags) {
  app.add_flag("--no-shuffle", flags.no_shuffle, "Read every epoch in file order");
  app.add_option("--lanes", flags.lanes, "L of the plan: windows read side by side")
      ->check(WholeNumber(1));
  app.add_option("--window-chunks", flags.window_chunks, "K of the plan: chunks of a window")
      ->check(WholeNumber(1));
  app.add_option("--strip-rows", flags.strip_rows, "S of the plan; 0: chosen from the data");
  app.add_option("--remainder", flags.remainder,
                 "Rows after an epoch's last full step: left out (drop), a shorter step of their\n"
                 "own (short), or the first of the next epoch's first step (carry)")
      ->check(CLI::IsMember({"drop", "short", "carry"}));
}

Remainder RemainderOf(const std::string& word) {
  if (word == "short") return Remainder::kShort;
  return word == "carry" ? Remainder::kCarry : Remainder::kDrop;
}

void FillPlan(const SourceFlags& flags, PlanOptions& plan) {
  plan.shuffle = !flags.no_shuffle;
  plan.lanes = flags.lanes;
  plan.window_chunks = flags.window_chunks;
  plan.strip_rows = flags.strip_rows;
}

void AddPlaceFlags(CLI::App& app, SourceFlags& flags) {
  app.add_option("--servers", flags.servers,
                 "local:, to decode in this process, or a list of HOST:PORT, dns:///HOST:PORT\n"
                 "(every address of the name) and file:PATH (a file of addresses, or a folder of\n"
                 "the files of penstock-server --address-file); names and files are followed");
  app.add_option(
      "--data-root", flags.data_root,
      "Folder of the shards for local:; empty: the manifest's own. Nothing outside it is "
      "read; / also allows a manifest that names shards by absolute paths");
  app.add_option(
      "--spec", flags.spec,
      "A built-in decode spec (chess, images-train, images-eval) or a textproto file; empty:\n"
      "chess for chess's features, else the manifest's own, else one made from its features");
}

void AddFetchFlags(CLI::App& app, SourceFlags& flags) {
  app.add_option(
      "--look-ahead", flags.look_ahead,
      "Memory for batches fetched ahead, at least two; 0: 64MiB, or four batches if they\n"
      "take more");
  app.add_option("--server-timeout", flags.server_timeout, "Fail after so long without any server");
  app.add_option(
         "--on-error", flags.on_error,
         "A record that was damaged after it was indexed, or whose image or integers cannot\n"
         "be decoded. A missing feature or another number of values is always an error")
      ->check(CLI::IsMember({"fail", "replace"}));
  app.add_flag("--checksums", flags.checksums, "Verify a checksum of every part that servers send");
  app.add_option("--connections", flags.connections,
                 "To each server; 0: one, and a second when it is saturated")
      ->check(WholeNumber(0, NetworkOptions::kMaxConnections));
  app.add_flag("--no-shm", flags.no_shm,
               "Take parts over gRPC even where a server offers shared memory");
  AddNetworkFlags(app, flags.network);
}

}  // namespace

CLI::Option* AddManifestFlag(CLI::App& app, std::string& manifest) {
  return app
      .add_option("manifest,--manifest", manifest,
                  "The dataset: a DIR (its manifest.pb; without one it is indexed first), a\n"
                  "MANIFEST, or server:PATH: the manifest at PATH beneath the --data-root of\n"
                  "--servers; server:DIR/ is DIR/manifest.pb there, server: is manifest.pb")
      ->type_name("DATASET")
      ->default_str("");
}

absl::Status CheckManifestFlag(const std::string& manifest) {
  if (!manifest.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a dataset is needed: DIR, MANIFEST or server:PATH, by itself or behind --manifest");
}

void AddSourceFlags(CLI::App& app, SourceFlags& flags) {
  AddPlaceFlags(app, flags);
  AddPlanFlags(app, flags);
  AddFetchFlags(app, flags);
}

void AddOneReadFlags(CLI::App& app, SourceFlags& flags) {
  AddPlaceFlags(app, flags);
  AddFetchFlags(app, flags);
}

absl::Status FillLoaderOptions(const SourceFlags& flags, LoaderOptions& options) {
  options.servers = flags.servers;
  options.data_root = flags.data_root;
  FillPlan(flags, options.plan);
  options.remainder = RemainderOf(flags.remainder);
  const auto look_ahead = ParseByteSizeOrZero(flags.look_ahead, kMinLookAheadBytes);
  PENSTOCK_RETURN_IF_ERROR(Annotate(look_ahead.status(), "--look-ahead"));
  options.look_ahead_bytes = *look_ahead;
  const auto server_timeout = ParseTimeout(flags.server_timeout);
  PENSTOCK_RETURN_IF_ERROR(Annotate(server_timeout.status(), "--server-timeout"));
  options.server_timeout = *server_timeout;
  options.on_error = flags.on_error == "replace" ? OnError::kReplace : OnError::kFail;
  options.checksums = flags.checksums;
  PENSTOCK_ASSIGN_OR_RETURN(options.network, ToNetworkOptions(flags.network));
  options.network.connections = flags.connections;
  options.network.shared_memory = !flags.no_shm;
  return absl::OkStatus();
}

absl::Status CheckSource(const LoaderOptions& options, std::vector<std::string>& warnings) {
  if (options.servers == kLocalServer) return absl::OkStatus();
  if (!options.data_root.empty()) {
    warnings.emplace_back("--data-root is for local:, without effect here");
  }
  return CheckNetworkFiles(options.network, warnings);
}

}  // namespace penstock
