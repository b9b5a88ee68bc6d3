// penstock-server: decodes records beneath a folder for trainers that ask for them.
#include <cstdio>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "google/protobuf/stubs/logging.h"
#include "metrics/metrics_flags.h"
#include "penstock_version.h"
#include "records/base/byte_size.h"
#include "records/base/keep_freed_memory.h"
#include "records/base/number_range.h"
#include "records/base/status.h"
#include "server/address_file.h"
#include "server/grpc_log.h"
#include "server/listen_address.h"
#include "server/log_format.h"
#include "server/server.h"
#include "server/server_metrics.h"
#include "server/signals.h"
#include "spdlog/spdlog.h"

namespace penstock {
namespace {

// No window fits into less; who gives less has forgotten the unit.
constexpr uint64_t kMinMemoryBudget = uint64_t{64} << 10;

struct Flags {
  ServerOptions server;
  std::string memory_budget = "0";
  std::string strip_cache = "256MiB";
  std::string grace = "30s";
  std::string address_file;
  std::string advertise;
  MetricsFlags metrics;
  std::string log_level = "info";
  std::string log_format = "text";
  bool print_config = false;
};

constexpr char kExample[] =
    "Example:\n"
    "  penstock-server --data-root /data/chess --listen 127.0.0.1:7070\n"
    "  penstock stream /data/chess/manifest.pb --servers 127.0.0.1:7070 --steps 100\n\n"
    "SIGTERM or Ctrl-C drains: streams are told, new ones refused, what was asked for is\n"
    "answered, and the process ends with the last stream or after --grace. A second Ctrl-C\n"
    "ends it at once.";

void AddOptions(CLI::App& app, Flags& flags) {
  app.option_defaults()->always_capture_default();
  app.add_option("--data-root", flags.server.data_root,
                 "Folder of shards and manifests; nothing outside it is served");
  app.add_option("--listen", flags.server.listen, "HOST:PORT; port 0 takes a free one");
  app.add_option("--health-listen", flags.server.health_listen,
                 "HOST:PORT of a second port that answers health checks alone, without TLS");
  const CLI::Validator threads(
      [](std::string& text) {
        return std::string(CheckWholeNumber(text, 0, EngineOptions::kMaxThreads).message());
      },
      absl::StrCat("0..", EngineOptions::kMaxThreads));
  app.add_option("--threads", flags.server.threads,
                 "Threads that load and decode; 0: the cores this process may use")
      ->check(threads);
  app.add_option("--read-threads", flags.server.read_threads,
                 "Threads for reads alone, started when storage proves slow: how many it gets at a "
                 "time; 0: "
                 "those of --threads read")
      ->check(threads);
  app.add_option(
      "--memory-budget", flags.memory_budget,
      "Memory for data and what clients ask for, e.g. 4GiB; 0: a quarter of what this process may "
      "use");
  app.add_option(
      "--strip-cache", flags.strip_cache,
      "Of --memory-budget, at most an eighth of it: memory for decoded rows that several "
      "clients on the same plan are sent; 0: rows are decoded for each");
  app.add_option("--address-file", flags.address_file,
                 "File that gets the address once it is served, and goes when the server ends; a "
                 "folder of such files is what --servers file:FOLDER reads");
  AddMetricsFlags(app, flags.metrics);
  app.add_option("--advertise", flags.advertise,
                 "Host for --address-file, if others know this machine by another than --listen's; "
                 "by default its name where --listen is 0.0.0.0 or [::]");
  app.add_option("--grace", flags.grace, "How long SIGTERM waits for streams to end, e.g. 30s");
  app.add_option("--shm-socket", flags.server.shm_socket,
                 "Unix socket that clients of this machine fetch shared memory from");
  app.add_option("--shm-group", flags.server.shm_group,
                 "Group that may connect to --shm-socket, beside this user");
  app.add_flag("--insecure", flags.server.insecure,
               "Allow --listen on an address that other machines reach, without TLS");
  app.add_option("--tls-cert", flags.server.tls_cert,
                 "PEM file of this server's certificate: speak TLS; needs --tls-key");
  app.add_option("--tls-key", flags.server.tls_key, "PEM file of its key");
  app.add_option("--tls-client-ca", flags.server.tls_client_ca,
                 "PEM file of CAs: clients need a certificate that one of them signed");
  app.add_option("--token-file", flags.server.token_file,
                 "Lines of TOKEN [ROOT...]: clients need one; roots limit it to these folders");
  app.add_option("--log-level", flags.log_level, "What goes to stderr")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}));
  app.add_option("--log-format", flags.log_format,
                 "text: NAME=VALUE fields after the event; json: an object a line")
      ->check(CLI::IsMember({"text", "json"}));
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "File of options, one NAME=VALUE a line");
  app.add_flag("--print-config", flags.print_config, "Print the options as a file and exit")
      ->configurable(false);
  app.set_version_flag("--version",
                       "penstock-server " PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")");
  app.footer(kExample);
}

// Values that are wrong whatever the machine is like: exit code 2.
absl::Status Complete(Flags& flags, absl::Duration& grace) {
  absl::StatusOr<uint64_t> budget = ParseByteSize(flags.memory_budget);
  if (!budget.ok()) return Annotate(budget.status(), "--memory-budget");
  if (*budget > 0 && *budget < kMinMemoryBudget) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--memory-budget: ", flags.memory_budget, " is ", *budget, " bytes, less than ",
        FormatByteSize(kMinMemoryBudget), "; give a unit, e.g. 4GiB, or 0"));
  }
  flags.server.memory_budget = *budget;
  absl::StatusOr<uint64_t> strip_cache = ParseByteSize(flags.strip_cache);
  if (!strip_cache.ok()) return Annotate(strip_cache.status(), "--strip-cache");
  flags.server.strip_cache = *strip_cache;
  if (!absl::ParseDuration(flags.grace, &grace) || grace < absl::ZeroDuration() ||
      grace > absl::Hours(24)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--grace: \"", flags.grace, "\" is no duration of at most 24h; give e.g. 30s or 2m"));
  }
  PENSTOCK_RETURN_IF_ERROR(flags.metrics.Validate());
  return flags.server.Validate();
}

// Every option in effect, as one line; --print-config's lines are NAME=VALUE.
std::string DescribeOptions(const CLI::App& app) {
  std::string fields;
  for (absl::string_view line : absl::StrSplit(app.config_to_str(/*default_also=*/true), '\n')) {
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(option.first);
    if (name.empty() || name[0] == '#' || name[0] == '[') continue;
    absl::string_view value = option.second;
    if (absl::ConsumePrefix(&value, "\"")) absl::ConsumeSuffix(&value, "\"");
    absl::StrAppend(&fields, " ", name, "=", Quoted(value));
  }
  return fields;
}

absl::Status Serve(const Flags& flags, const std::string& described, absl::Duration grace) {
  absl::StatusOr<std::unique_ptr<Server>> started = Server::Start(flags.server);
  PENSTOCK_RETURN_IF_ERROR(started.status());
  Server& server = **started;
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<MetricsEndpoint> metrics,
                            StartMetrics(flags.metrics, [&server](MetricFamilies& families) {
                              AddServerMetrics(server.stats(), families);
                            }));
  AddressFile address_file;
  if (!flags.address_file.empty()) {
    absl::Status written =
        address_file.Write(flags.address_file, ReachableAddress(server.address(), flags.advertise));
    if (!written.ok()) return Annotate(written, "--address-file");
  }
  spdlog::info("serving address={} root={} threads={} memory_budget=\"{}\" version={} commit={}",
               server.address(), Quoted(server.options().data_root), server.options().threads,
               FormatByteSize(server.options().memory_budget), PENSTOCK_VERSION, PENSTOCK_COMMIT);
  spdlog::info("options{}", described);
  if (metrics != nullptr) spdlog::info("metrics address={}", metrics->address());
  if (!server.health_address().empty()) {
    spdlog::info("health address={}", server.health_address());
  }
  bool draining = false;
  SignalThread signals([&](int signal) {
    if (draining && signal == SIGINT) {
      spdlog::warn("ending at once signal={}", sigabbrev_np(signal));
      server.Stop();
      return;
    }
    if (draining) return;
    draining = true;
    spdlog::info("draining signal={} grace={} streams={}", sigabbrev_np(signal),
                 absl::FormatDuration(grace), server.num_streams());
    server.Drain(grace);
  });
  server.Wait();
  spdlog::info("ended");
  return absl::OkStatus();
}

int Fail(const absl::Status& status, int exit_code) {
  std::fprintf(stderr, "penstock-server: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

int Main(int argc, char** argv) {
  KeepFreedMemory();
  CLI::App app("Decodes records beneath a folder for the trainers that ask for them.",
               "penstock-server");
  Flags flags;
  AddOptions(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version.
    std::fprintf(stderr, "penstock-server: %s\nRun with --help for the options.\n", error.what());
    return 2;
  }
  if (flags.print_config) {
    std::fputs(app.config_to_str(/*default_also=*/true, /*write_description=*/true).c_str(),
               stdout);
    return 0;
  }
  absl::Duration grace;
  if (absl::Status status = Complete(flags, grace); !status.ok()) return Fail(status, 2);
  std::signal(SIGPIPE, SIG_IGN);
  BlockEndSignals();
  SetUpLog(flags.log_level, flags.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  SendGrpcLogToSpdlog();
  // Protobuf would write a line of its own for what a client sent; the stream's refusal says it.
  google::protobuf::SetLogHandler(nullptr);
  absl::Status status = Serve(flags, DescribeOptions(app), grace);
  return status.ok() ? 0 : Fail(status, 1);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
