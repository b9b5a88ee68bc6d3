// penstock size: computes how many servers, and which network and memory, a training needs.
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "base/byte_size.h"
#include "base/dtype.h"
#include "base/flags/json_flag.h"
#include "base/flags/number_flags.h"
#include "base/print_escaped.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/stream/fleet_size.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"

namespace penstock {
namespace {

struct SizeFlags {
  FleetNeed need;
  std::string spec = "chess", dtype = "i8", record_bytes = "0", chunk_bytes = "256KiB", json;
};

absl::StatusOr<double> SizeOf(const std::string& option, const std::string& text, uint64_t least) {
  const absl::StatusOr<uint64_t> bytes =
      least == 0 ? ParseByteSizeOrZero(text, 1) : ParseByteSizeFrom(text, least);
  if (!bytes.ok()) return UsageError(Annotate(bytes.status(), option).message());
  return static_cast<double>(*bytes);
}

absl::StatusOr<double> RowBytes(const SizeFlags& flags) {
  PENSTOCK_ASSIGN_OR_RETURN(const v1::DecodeSpec spec, LoadSpec(flags.spec));
  const absl::StatusOr<WireDtype> dtype = ParseWireDtype(flags.dtype);
  if (!dtype.ok()) return UsageError(Annotate(dtype.status(), "--dtype").message());
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(spec, *dtype));
  return static_cast<double>(program.row_bytes());
}

absl::Status Size(const SizeFlags& flags) {
  PENSTOCK_RETURN_IF_ERROR(CheckJsonFlag(flags.json));
  FleetNeed need = flags.need;
  PENSTOCK_ASSIGN_OR_RETURN(need.record_bytes, SizeOf("--record-bytes", flags.record_bytes, 0));
  PENSTOCK_ASSIGN_OR_RETURN(need.chunk_bytes, SizeOf("--chunk-size", flags.chunk_bytes, 1));
  PENSTOCK_ASSIGN_OR_RETURN(need.row_bytes, RowBytes(flags));
  const FleetSize size = SizeFleet(need);
  if (flags.json != kStandardOutput) PrintEscaped(stdout, "%s", Multiline(FleetText(need, size)));
  return WriteJson(flags.json, FleetJson(need, size));
}

}  // namespace

void AddSizeCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "size",
      "Compute the servers, network, storage and memory that a training needs. It reads no data: "
      "measure the cost of a row with `penstock bench`. docs/guides/sizing.md has examples.",
      "penstock size --rows-per-second 20000000 --server-cpu 0.093 \\\n"
      "    --spec chess --dtype packed\n"
      "penstock size --rows-per-second 20000 --server-cpu 1110 \\\n"
      "    --spec images-train --tls");
  command.group("Run");
  auto flags = std::make_shared<SizeFlags>();
  FleetNeed& need = flags->need;
  command.add_option("--rows-per-second", need.rows_per_second, "Rate of all ranks together")
      ->check(PositiveNumber())
      ->required();
  command
      .add_option("--server-cpu", need.server_cpu_s,
                  "CPU seconds of servers per million rows: a server's cores in `penstock bench`, "
                  "divided by its rate in millions")
      ->check(PositiveNumber())
      ->required();
  command.add_option("--cores", need.cores, "Cores of a server")->check(PositiveNumber());
  command.add_option("--network", need.network_gbit, "Network of a server, in Gbit/s")
      ->check(PositiveNumber())
      ->type_name("GBIT");
  command.add_option("--ranks", need.ranks, "Ranks that share the rate")
      ->check(WholeNumber(1, 1 << 16));
  command.add_flag("--tls", need.tls, "Add what TLS takes");
  command.option_defaults()->group("Data");
  command.add_option("--spec", flags->spec, "Built-in decode spec, or a file")->type_name("SPEC");
  command.add_option("--dtype", flags->dtype, "Wire dtype of unpacked bits")
      ->check(CLI::IsMember({"packed", "i8", "bf16", "f32", "f64"}))
      ->type_name("DTYPE");
  command
      .add_option("--record-bytes", flags->record_bytes,
                  "Bytes of a record in its file; 0: unknown")
      ->type_name("SIZE");
  command.add_option("--records", need.records, "Records of the dataset; 0: unknown")
      ->check(Number(0));
  command.option_defaults()->group("Order");
  command.add_option("--lanes", need.lanes, "As for the training")->check(PositiveNumber());
  command.add_option("--window-chunks", need.window_chunks, "As for the training")
      ->check(PositiveNumber());
  command.add_option("--chunk-size", flags->chunk_bytes, "As for `penstock index`")
      ->type_name("SIZE");
  AddJsonFlag(command, flags->json, "Write the result");
  OnRun(command, outcome, [flags] { return Size(*flags); });
}

}  // namespace penstock
