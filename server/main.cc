// penstock-server: decodes the records beneath a folder for trainers that request them.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>

#include "CLI/CLI.hpp"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/byte_size.h"
#include "base/flags/command_line.h"
#include "base/flags/help_command.h"
#include "base/flags/number_flags.h"
#include "base/flags/path_flags.h"
#include "base/print_escaped.h"
#include "base/process/end_process.h"
#include "base/process/keep_freed_memory.h"
#include "base/process/machine_limits.h"
#include "base/process/process_limits.h"
#include "base/process/process_stats.h"
#include "base/process/standard_streams.h"
#include "base/process/start_thread.h"
#include "base/process/stop_signals.h"
#include "base/status.h"
#include "base/terminal.h"
#include "google/protobuf/stubs/logging.h"
#include "metrics/metrics_flags.h"
#include "penstock_version.h"
#include "server/address_file.h"
#include "server/connection_limits.h"
#include "server/grpc_log.h"
#include "server/listen_address.h"
#include "server/log.h"
#include "server/server.h"
#include "server/server_metrics.h"
#include "server/signals.h"

namespace penstock {
namespace {

// Maximum time that a server may take to end once --grace has passed. It is less than what
// orchestrators allow in addition to the grace (deploy/).
constexpr absl::Duration kEndTime = absl::Seconds(5);
// The exit code of a server that takes longer.
constexpr int kExitCodeOfHang = 3;

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
    "  penstock stream /data/chess --servers 127.0.0.1:7070 --steps 100\n\n"
    "SIGTERM, SIGHUP or Ctrl-C drains the server: it tells its streams, refuses new ones, answers\n"
    "outstanding requests, and ends with the last stream or after --grace. A second Ctrl-C, a\n"
    "second or more after the first signal, ends it at once. SIGUSR1 has no effect.\n\n"
    "Exit codes:\n"
    "  0: A signal drained it, and its clients have their answers.\n"
    "  3: It did not end in time; its log says \"ended by force\".\n"
    "  128 + N: Signal N came before it served, or was the second Ctrl-C.\n\n"
    "Files:\n"
    "  /etc/penstock/server.conf: The options of the systemd unit (--config).";

void AddServingOptions(CLI::App& app, Flags& flags) {
  app.option_defaults()->group("Options");
  app.add_option("--data-root", flags.server.data_root,
                 "Folder of shards and manifests; nothing outside it is served")
      ->type_name("DIR");
  app.add_option("--listen", flags.server.listen, "HOST:PORT to serve on; port 0: a free one")
      ->type_name("ADDRESS");
  app.add_option("--grace", flags.grace, "Time that streams get to end after SIGTERM")
      ->type_name("TIME");
  app.option_defaults()->group("Servers");
  app.add_option("--address-file", flags.address_file,
                 "Write the address to this file while serving, for --servers file:PATH")
      ->type_name("FILE");
  app.add_option("--advertise", flags.advertise,
                 "Host to write to --address-file; empty: this machine's name if --listen is "
                 "0.0.0.0 or [::], else that of --listen")
      ->type_name("HOST");
  app.add_option("--health-listen", flags.server.health_listen,
                 "HOST:PORT of a second port that answers only health checks, without TLS")
      ->type_name("ADDRESS");
  app.add_option("--require", flags.server.require,
                 "Manifest beneath --data-root, or FOLDER/ of one; the server is not ready while "
                 "shards of it are missing. May be given several times")
      ->allow_extra_args(false)
      ->type_name("MANIFEST");
  app.add_option("--max-streams", flags.server.limits.max_streams, "Maximum number of streams")
      ->check(WholeNumber(1, ServiceLimits::kMostStreams));
  app.add_option("--max-streams-per-host", flags.server.limits.max_streams_per_host,
                 "Maximum number of streams from one client address")
      ->check(WholeNumber(1, ServiceLimits::kMostStreams));
  app.add_option("--shm-socket", flags.server.shm_socket,
                 "Unix socket from which clients of this machine get shared memory")
      ->type_name("PATH");
  app.add_option("--shm-group", flags.server.shm_group,
                 "Group that may connect to --shm-socket, besides this user")
      ->type_name("GROUP");
}

void AddSecurityOptions(CLI::App& app, Flags& flags) {
  app.option_defaults()->group("Security");
  app.add_flag("--insecure", flags.server.insecure,
               "Allow --listen without TLS on an address that other machines can reach");
  app.add_option("--tls-cert", flags.server.tls_cert,
                 "PEM file of this server's certificate, which turns TLS on; needs --tls-key")
      ->type_name("FILE");
  app.add_option("--tls-key", flags.server.tls_key, "PEM file of the key of --tls-cert")
      ->type_name("FILE");
  app.add_option("--tls-client-ca", flags.server.tls_client_ca,
                 "PEM file of CAs; clients need a certificate that one of them signed")
      ->type_name("FILE");
  app.add_option("--token-file", flags.server.token_file,
                 "File of lines TOKEN [ROOT...]; clients need a TOKEN, and ROOTs limit it to these "
                 "folders")
      ->type_name("FILE");
}

void AddTuningOptions(CLI::App& app, Flags& flags) {
  const CLI::Validator threads = WholeNumber(0, EngineOptions::kMaxThreads);
  app.option_defaults()->group("Tuning");
  app.add_option("--threads", flags.server.threads,
                 "Threads that load and decode; 0: the cores this process may use")
      ->check(threads);
  app.add_option("--memory-budget", flags.memory_budget,
                 "Memory for chunks and requests; 0: a quarter of what this process may use")
      ->type_name("SIZE");
  app.add_option("--read-threads", flags.server.read_threads,
                 "Maximum number of read-ahead threads, started only when storage is slow; 0: "
                 "--threads do the reads")
      ->check(threads);
  app.add_option("--strip-cache", flags.strip_cache,
                 "Part of --memory-budget, at most an eighth, that caches decoded rows for several "
                 "clients on the same plan; 0: no cache")
      ->type_name("SIZE");
}

void AddOptions(CLI::App& app, Flags& flags) {
  app.option_defaults()->always_capture_default();
  AddServingOptions(app, flags);
  AddSecurityOptions(app, flags);
  AddMetricsFlags(app, flags.metrics);
  app.option_defaults()->group("Logging");
  app.add_option("--log-level", flags.log_level, "Lowest level to log on stderr")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->type_name("LEVEL");
  app.add_option("--log-format", flags.log_format,
                 "Log NAME=VALUE fields after the event (text), or a JSON object a line (json)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  AddTuningOptions(app, flags);
  app.option_defaults()->group("Help");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "Read options from a file, one NAME=VALUE a line")
      ->type_name("FILE");
  app.add_flag("--print-config", flags.print_config, "Print all options as such a file and exit")
      ->configurable(false);
  app.set_version_flag("--version",
                       "penstock-server " PENSTOCK_VERSION " (commit " PENSTOCK_COMMIT ")",
                       "Print the version and exit");
  app.footer(kExample);
}

// Checks the values that are wrong on any machine. They give exit code 2.
absl::Status Complete(Flags& flags, absl::Duration& grace) {
  absl::StatusOr<uint64_t> budget =
      ParseByteSizeOrZero(flags.memory_budget, EngineOptions::kMinMemoryBudget);
  if (!budget.ok()) return Annotate(budget.status(), "--memory-budget");
  flags.server.memory_budget = *budget;
  absl::StatusOr<uint64_t> strip_cache = ParseByteSize(flags.strip_cache);
  if (!strip_cache.ok()) return Annotate(strip_cache.status(), "--strip-cache");
  flags.server.strip_cache = *strip_cache;
  if (!absl::ParseDuration(flags.grace, &grace) || grace < absl::ZeroDuration() ||
      grace > absl::Hours(24)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--grace: \"", flags.grace, "\" is not a duration from 0 to 24h; give e.g. 30s or 2m"));
  }
  if (!flags.advertise.empty() && flags.address_file.empty()) {
    return absl::InvalidArgumentError(
        "--advertise has no effect without --address-file; give both");
  }
  if (!flags.advertise.empty()) {
    PENSTOCK_RETURN_IF_ERROR(Annotate(CheckReachableHost(flags.advertise), "--advertise"));
  }
  PENSTOCK_RETURN_IF_ERROR(flags.metrics.Validate());
  return flags.server.Validate();
}

// Returns every option in effect, as one line. The lines of --print-config are NAME=VALUE.
std::string DescribeOptions(const CLI::App& app) {
  std::string fields;
  for (absl::string_view line : absl::StrSplit(app.config_to_str(/*default_also=*/true), '\n')) {
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(option.first);
    if (name.empty() || name[0] == '#' || name[0] == '[') continue;
    absl::string_view value = option.second;
    // CLI11 puts a string into "", and a string of a single letter into ''.
    for (const char* quote : {"\"", "'"}) {
      if (absl::ConsumePrefix(&value, quote)) absl::ConsumeSuffix(&value, quote);
    }
    absl::StrAppend(&fields, " ", name, "=", Quoted(value));
  }
  return fields;
}

// Handles a signal. SIGUSR1 has no effect on servers: Slurm sends it to all steps of a job, and
// trainers go on until they have saved. A supervisor that sends SIGTERM twice does not end the
// server at once; a person who presses Ctrl-C twice does.
void StopServer(Server& server, LastThread& last, absl::Duration grace, StopSignals& stop,
                int signal) {
  const StopSignals::Meaning meaning = stop.Receive(signal);
  if (meaning == StopSignals::Meaning::kStopAtOnce && signal == SIGINT) {
    last.EndWithin(kEndTime);
    LogWarning("ending at once signal={}", sigabbrev_np(signal));
    server.Stop();
  }
  if (meaning != StopSignals::Meaning::kStop) return;
  last.EndWithin(grace + kEndTime);
  LogInfo("draining signal={} grace={} streams={}", sigabbrev_np(signal),
          absl::FormatDuration(grace), server.num_streams());
  server.Drain(grace);
}

// `server` is null until it has started. Until then a signal ends the process, because a start may
// hang, for example on storage, and nobody is served yet.
absl::StatusOr<std::unique_ptr<SignalThread>> HandleSignals(const std::atomic<Server*>& server,
                                                            LastThread& last,
                                                            absl::Duration grace) {
  return SignalThread::Start(
      [&server, &last, grace, stop = std::make_shared<StopSignals>()](int signal) {
        if (signal == SIGUSR1) return;
        if (Server* started = server) return StopServer(*started, last, grace, *stop, signal);
        LogWarning("stopped during start-up signal={}", sigabbrev_np(signal));
        _exit(128 + signal);
      });
}

// Number of threads in addition to the engine's: those of this program, its listeners, its metrics
// and its shared-memory socket.
constexpr uint64_t kOtherThreads = 8;
// Memory of gRPC and the streams in addition to the memory budget. With --memory-budget 64MiB and
// one engine thread, 4 clients took 52 MiB: the largest address space that the server had mapped,
// minus the budget, the stacks, and what was mapped at the start.
constexpr uint64_t kMemoryBesideBudget = uint64_t{64} << 20;

// Without this check a server that runs out of address space ends with an exception at its first
// client.
absl::Status CheckAddresses(const ServerOptions& options) {
  const MachineLimits machine = ReadMachineLimits();
  const uint64_t budget =
      options.memory_budget == 0 ? machine.memory_bytes / 4 : options.memory_budget;
  const uint64_t threads = options.threads == 0 ? machine.cores : options.threads;
  return CheckAddressSpace(
      {.threads = threads + options.read_threads + ThreadsOfGrpc::Most() + kOtherThreads,
       .bytes = budget + kMemoryBesideBudget},
      "give a smaller --memory-budget, fewer --threads and --read-threads, or "
      "smaller stacks (ulimit -s)");
}

absl::Status CheckPaths(const ServerOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckExists("--data-root", options.data_root,
                                       "give the folder with the shards and manifests"));
  if (options.token_file.empty()) return absl::OkStatus();
  return CheckExists("--token-file", options.token_file, "give a file with one token in each line");
}

// Ends the process if it hangs. For example, gRPC waits for ever for threads that it could not
// start.
absl::StatusOr<LastThread*> StartLastThread() {
  return LastThread::Start(kExitCodeOfHang, [](const std::string& doing) {
    LogError("ended by force reason=\"it did not end in time\" doing={} limit={} exit_code={}",
             Quoted(doing), absl::FormatDuration(kEndTime), kExitCodeOfHang);
  });
}

// Warns because the system would kill the process for such a budget at some time, without a
// message.
void WarnOfTooLargeABudget(uint64_t budget) {
  const uint64_t memory = ReadMachineLimits().memory_bytes;
  if (memory == 0 || budget <= memory) return;
  LogWarning("memory budget exceeds the memory limit of this process budget={} memory={}",
             Quoted(FormatByteSize(budget)), Quoted(FormatByteSize(memory)));
}

absl::Status Serve(const Flags& flags, const std::string& described, absl::Duration grace,
                   LastThread& last) {
  PENSTOCK_RETURN_IF_ERROR(CheckAddresses(flags.server));
  PENSTOCK_RETURN_IF_ERROR(CheckPaths(flags.server));
  std::atomic<Server*> started{nullptr};
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<SignalThread> signals,
                            HandleSignals(started, last, grace));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Server> owned, Server::Start(flags.server));
  const absl::Cleanup before_the_server = [&signals] { signals.reset(); };
  Server& server = *owned;
  started = owned.get();
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<MetricsEndpoint> metrics,
                            StartMetrics(flags.metrics, [&server](MetricFamilies& families) {
                              AddServerMetrics(server.stats(), families);
                              families.AddCertificateExpiry(
                                  "penstock_server_certificate_expiry_timestamp_seconds",
                                  server.options().tls_cert);
                            }));
  AddressFile address_file;
  if (!flags.address_file.empty()) {
    absl::Status written =
        address_file.Write(flags.address_file, ReachableAddress(server.address(), flags.advertise));
    if (!written.ok()) return Annotate(written, "--address-file");
  }
  LogInfo("serving address={} root={} threads={} memory_budget=\"{}\" version={} commit={}",
          server.address(), Quoted(server.options().data_root), server.options().threads,
          FormatByteSize(server.options().memory_budget), PENSTOCK_VERSION, PENSTOCK_COMMIT);
  LogInfo("options{}", described);
  WarnOfTooLargeABudget(server.options().memory_budget);
  if (metrics != nullptr) LogInfo("metrics address={}", metrics->address());
  if (!server.health_address().empty()) {
    LogInfo("health address={}", server.health_address());
  }
  last.Doing("streams end");
  server.Wait();
  last.Doing("threads of gRPC and the engine end");
  last.EndWithin(kEndTime);
  LogInfo("ended");
  return absl::OkStatus();
}

int Fail(const absl::Status& status, int exit_code) {
  PrintError("penstock-server", status.message());
  return exit_code;
}

int Main(int argc, char** argv) {
  EndAtSignals();
  // A reader of --help or --print-config that went away must not end the program by a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // A log file that reaches the file-size limit must not end the server either.
  std::signal(SIGXFSZ, SIG_IGN);
  HoldStandardStreams();
  KeepFreedMemory();
  UseOneArenaUnderAnAddressLimit();
  ReadLittleAtATime();
  CLI::App app(
      "Serve decoded records to trainers. It reads the shards beneath --data-root and keeps no "
      "state of a training.",
      "penstock-server");
  Flags flags;
  AddOptions(app, flags);
  if (const std::string name = CommandOfHelp(argc, argv); !name.empty()) {
    return Fail(absl::InvalidArgumentError(NoSuchCommand(name, {})), kUsageExitCode);
  }
  const std::vector<const char*> words = WithHelpAsOption(argc, argv);
  if (const std::optional<int> code =
          ParseCommandLine(app, "penstock-server", static_cast<int>(words.size()), words.data())) {
    return *code;
  }
  if (flags.print_config) {
    PrintEscaped(stdout, "%s",
                 Multiline(app.config_to_str(/*default_also=*/true, /*write_description=*/true)));
    const absl::Status printed = FlushStandardOutput();
    return printed.ok() ? 0 : Fail(printed, 1);
  }
  absl::Duration grace;
  if (absl::Status status = Complete(flags, grace); !status.ok()) return Fail(status, 2);
  RaiseDescriptorLimit();
  BlockEndSignals();
  SetUpLog(flags.log_level, flags.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  SendGrpcLogToServerLog();
  // Protobuf would log a line of its own about a client's message; the stream's refusal already
  // says it.
  google::protobuf::SetLogHandler(nullptr);
  const absl::StatusOr<LastThread*> last = StartLastThread();
  if (!last.ok()) return Fail(last.status(), 1);
  const absl::Status status = Serve(flags, DescribeOptions(app), grace, **last);
  (*last)->Doing("the program exits");
  return status.ok() ? 0 : Fail(status, 1);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
