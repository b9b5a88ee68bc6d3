// penstock feed: runs the loader for a process in another language
// (docs/reference/feed_protocol.md).
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/flags/number_flags.h"
#include "base/io/unique_fd.h"
#include "base/print_escaped.h"
#include "base/process/machine_limits.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/data/dataset_argument.h"
#include "cli/feed/consumer_watch.h"
#include "cli/feed/feed_requests.h"
#include "cli/feed/feed_session.h"
#include "cli/feed/feed_text.h"
#include "cli/feed/feed_writer.h"
#include "cli/stream/loader_flags.h"
#include "client/loader/host_share.h"
#include "client/loader/loader_shape.h"
#include "metrics/metrics_flags.h"

namespace penstock {
namespace {

constexpr uint32_t kMinSlots = 4;  // A `for` loop holds one batch while it asks for the next.

struct FeedFlags {
  LoaderFlags loader;
  int control_fd = -1;
  int64_t parent_pid = 0;
  uint32_t local_ranks = 1;
  bool record_ids = false;
  MetricsFlags metrics;
};

// Launchers send these signals to every process of a job; the consumer decides what they mean.
// Blocks them also in threads that start later, because the code that indexes a dataset handles
// some of them.
void BlockSignals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int number : {SIGINT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&blocked, number);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
}

absl::StatusOr<LoaderOptions> OptionsOf(const FeedFlags& flags) {
  PENSTOCK_ASSIGN_OR_RETURN(LoaderOptions options, ToLoaderOptions(flags.loader));
  PENSTOCK_RETURN_IF_ERROR(CheckDatasetArgument(flags.loader.manifest));
  options.report = [](absl::string_view line) { PrintEscaped(stderr, "warning: %s\n", line); };
  PENSTOCK_ASSIGN_OR_RETURN(options.manifest, OpenManifestArgument(flags.loader.manifest, options));
  PENSTOCK_RETURN_IF_ERROR(ChooseSpecOf(options, flags.loader.dtype));
  options.record_ids = flags.record_ids;
  ShareHost(flags.local_ranks, ReadMachineLimits(), options);
  return options;
}

absl::Status Carry(feed::Request request, feed::FeedSession& session) {
  const feed::RequestMessage& message = request.message;
  switch (message.kind) {
    case feed::ToFeed::kStart: {
      PENSTOCK_ASSIGN_OR_RETURN(const feed::StartText start, feed::ParseStartText(request.text));
      session.Start(message.generation, start, std::move(request.memory));
      return absl::OkStatus();
    }
    case feed::ToFeed::kRelease:
      return session.Release(message.generation, message.value);
    case feed::ToFeed::kWaiting:
      session.NoteWaiting(message.generation, message.value);
      return absl::OkStatus();
    case feed::ToFeed::kStats:
      return session.AnswerStats(message.generation, message.value == feed::kWithMetrics);
  }
  return absl::OkStatus();
}

// Answers requests until the consumer closes the socket.
absl::Status Serve(int socket, feed::FeedSession& session) {
  feed::FeedRequests requests(socket);
  std::vector<feed::Request> next;
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool more, requests.Next(next));
    if (!more) return absl::OkStatus();
    for (feed::Request& request : next) {
      PENSTOCK_RETURN_IF_ERROR(Carry(std::move(request), session));
    }
  }
}

// Runs the session. The consumer shows the errors that this returns.
absl::Status RunSession(const FeedFlags& flags, int socket, feed::FeedWriter& writer) {
  PENSTOCK_ASSIGN_OR_RETURN(const LoaderOptions options, OptionsOf(flags));
  PENSTOCK_ASSIGN_OR_RETURN(const LoaderShape shape, DescribeLoader(options));
  feed::FeedSession session(options, shape.slot_bytes, writer);
  PENSTOCK_ASSIGN_OR_RETURN(
      const std::unique_ptr<MetricsEndpoint> metrics,
      StartMetrics(flags.metrics, [&](MetricFamilies& families) { session.Collect(families); }));
  writer.AddText(feed::ToConsumer::kReady, 0,
                 feed::ReadyText(options, shape, std::max(shape.slots, kMinSlots),
                                 metrics == nullptr ? "" : metrics->address()));
  const absl::Status status = Serve(socket, session);
  // The consumer is gone, so the writer must not wait for it. After an error the consumer still
  // reads the message.
  if (status.ok()) shutdown(socket, SHUT_RDWR);
  return status;
}

absl::Status Feed(const FeedFlags& flags) {
  BlockSignals();
  const UniqueFd socket(flags.control_fd);
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<feed::ConsumerWatch> watch,
                            feed::ConsumerWatch::Start(flags.parent_pid));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<feed::FeedWriter> writer,
                            feed::FeedWriter::Start(socket.get()));
  const absl::Status status = RunSession(flags, socket.get(), *writer);
  if (!status.ok()) writer->AddText(feed::ToConsumer::kError, 0, feed::ErrorText(status));
  return status;
}

}  // namespace

void AddFeedCommand(CLI::App& app, absl::Status& outcome) {
  CLI::App& command = AddCommand(
      app, "feed",
      "Fill another process's shared memory with batches. The Python package and programs in other "
      "languages start it; docs/reference/feed_protocol.md describes the protocol.",
      "penstock feed data --control-fd 3 --parent-pid 4711");
  command.group("For programs");
  auto flags = std::make_shared<FeedFlags>();
  command
      .add_option("--control-fd", flags->control_fd,
                  "Descriptor of the socket to the process that started it")
      ->check(WholeNumber(0, 1 << 20))
      ->required();
  command
      .add_option("--parent-pid", flags->parent_pid,
                  "End when this process ends, whoever else holds the socket; 0: none")
      ->check(WholeNumber(0, 1 << 30))
      ->type_name("PID");
  AddLoaderFlags(command, flags->loader);
  AddStepsFlag(command, flags->loader);
  AddMetricsFlags(command, flags->metrics);
  command.add_flag("--record-ids", flags->record_ids, "Write the record ids beside the rows")
      ->group("Options");
  command
      .add_option("--local-ranks", flags->local_ranks,
                  "Ranks on this machine, which share its cores and memory with --servers local:")
      ->check(WholeNumber(1, 1 << 16))
      ->group("Ranks");
  OnRun(command, outcome, [flags] { return Feed(*flags); });
}

}  // namespace penstock
