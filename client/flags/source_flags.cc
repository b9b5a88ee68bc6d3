#include "client/flags/source_flags.h"

#include "CLI/CLI.hpp"
#include "base/byte_size.h"
#include "base/flags/number_flags.h"
#include "base/flags/path_flags.h"
#include "base/status.h"
#include "base/timeout.h"
#include "client/loader/look_ahead.h"
#include "client/loader/served_manifest.h"
#include "client/servers/server_list.h"

namespace penstock {
namespace {

void AddPlanFlags(CLI::App& app, SourceFlags& flags) {
  app.option_defaults()->group("Order");
  app.add_flag("--no-shuffle", flags.no_shuffle, "Read every epoch in file order");
  app.add_option("--remainder", flags.remainder,
                 "Rows after an epoch's last full step: drop them, read them as a shorter step, or "
                 "carry them into the next epoch")
      ->check(CLI::IsMember({"drop", "short", "carry"}))
      ->type_name("MODE");
  app.add_option("--lanes", flags.lanes, "Windows to read in parallel (L of the plan)")
      ->check(WholeNumber(1));
  app.add_option("--window-chunks", flags.window_chunks,
                 "Chunks that are shuffled together as a window (K of the plan)")
      ->check(WholeNumber(1));
  app.add_option("--strip-rows", flags.strip_rows,
                 "Consecutive rows of a lane (S of the plan); 0: chosen from the data");
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
  app.option_defaults()->group("Servers");
  app.add_option("--servers", flags.servers,
                 "Servers to read from: HOST:PORT, dns:///HOST:PORT or file:PATH, separated by "
                 "commas; local: decodes in this process")
      ->type_name("LIST");
  app.option_defaults()->group("Data");
  app.add_option("--data-root", flags.data_root,
                 "Folder of the shards with --servers local:, outside of which nothing is read; "
                 "empty: the manifest's folder")
      ->type_name("DIR");
  app.option_defaults()->group("Decoding");
  app.add_option("--spec", flags.spec,
                 "Decode spec: chess, images-train, images-eval or a textproto file; empty: chosen "
                 "from the data")
      ->type_name("SPEC");
}

void AddFetchFlags(CLI::App& app, SourceFlags& flags) {
  app.option_defaults()->group("Decoding");
  app.add_option("--on-error", flags.on_error,
                 "Fail at a record that is damaged or cannot be decoded, or replace it by another")
      ->check(CLI::IsMember({"fail", "replace"}))
      ->type_name("MODE");
  app.option_defaults()->group("Servers");
  app.add_option("--server-timeout", flags.server_timeout,
                 "Fail after this time without any server")
      ->type_name("TIME");
  app.add_flag("--checksums", flags.checksums, "Verify a checksum of every part that servers send");
  app.add_option("--connections", flags.connections,
                 "Connections to each server; 0: one, and a second when it is saturated")
      ->check(WholeNumber(0, NetworkOptions::kMaxConnections));
  app.add_flag("--no-shm", flags.no_shm,
               "Receive parts over gRPC even if a server offers shared memory");
  app.option_defaults()->group("Tuning");
  app.add_option("--look-ahead", flags.look_ahead,
                 "Memory for prefetched batches, at least two; 0: 64MiB, or four batches if they "
                 "take more")
      ->type_name("SIZE");
  AddNetworkFlags(app, flags.network);
}

}  // namespace

CLI::Option* AddManifestFlag(CLI::App& app, std::string& manifest) {
  return app
      .add_option("manifest,--manifest", manifest, "Dataset to read: DIR, MANIFEST or server:PATH")
      ->type_name("DATASET")
      ->group("Data")
      ->default_str("");
}

absl::Status CheckManifestFlag(const std::string& manifest) {
  if (!manifest.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "no dataset given: name DIR, MANIFEST or server:PATH, as an argument or with --manifest");
}

absl::Status CheckManifestExists(const std::string& manifest) {
  if (IsServedManifest(manifest)) return absl::OkStatus();
  return CheckExists("dataset", manifest,
                     "give a folder of shards, a manifest, or server:PATH for a manifest on the "
                     "servers");
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
  options.messages_name_flags = true;
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
    warnings.emplace_back("--data-root has no effect here: it applies to --servers local: only");
  }
  return CheckNetworkFiles(options.network, warnings);
}

}  // namespace penstock
