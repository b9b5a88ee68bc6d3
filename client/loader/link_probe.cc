#include "client/loader/link_probe.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/fetch/fetch_controller.h"
#include "client/loader/incoming.h"
#include "client/loader/loader_plan.h"
#include "client/loader/slot_layout.h"
#include "client/loader/transports.h"
#include "client/loader/window_message.h"
#include "records/decode/program.h"

namespace penstock {
namespace {

constexpr int kRequestsAhead = 16;
// These limits are far above the answers to kRequestsAhead requests.
constexpr IncomingLimits kSaid = {.messages = 1 << 20, .bytes = uint64_t{256} << 20};

class LinkProbe {
 public:
  // Asks for as many rows at a time as loaders do. Uses `connections` equal windows, because a
  // server that has several connections answers each window over one of them.
  LinkProbe(OpenWindow window, WireDtype dtype, uint64_t row_bytes, uint32_t connections)
      : window_(std::move(window)),
        num_windows_(connections),
        dtype_(dtype),
        rows_(static_cast<uint32_t>(
            std::clamp<uint64_t>(FetchOptions().fetch_bytes / row_bytes, 1, window_.rows))) {}

  absl::Status Connect(const LoaderOptions& options, const std::vector<std::string>& addresses) {
    const TransportFactory factory = MakeTransportFactory({}, options.network);
    for (uint32_t i = 0; i < addresses.size(); ++i) {
      PENSTOCK_ASSIGN_OR_RETURN(auto transport, factory(addresses[i]));
      servers_.emplace_back(StreamId{i, 1}, incoming_);
      servers_.back().stream =
          transport->Connect(MakeStreamOptions(options), *servers_.back().listener);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<double> Run(absl::Duration timeout, absl::Duration time) {
    PENSTOCK_RETURN_IF_ERROR(HandleUntil(SteadyNow() + timeout, /*all_answered=*/true));
    if (num_answered_ < servers_.size()) {
      return absl::DeadlineExceededError(
          absl::StrCat("only ", num_answered_, " of ", servers_.size(), " servers answered"));
    }
    bytes_ = 0;
    const absl::Time start = SteadyNow();
    PENSTOCK_RETURN_IF_ERROR(HandleUntil(start + time, /*all_answered=*/false));
    return static_cast<double>(bytes_) / absl::ToDoubleSeconds(SteadyNow() - start);
  }

 private:
  struct Server {
    Server(StreamId id, IncomingQueue& queue)
        : listener(std::make_unique<StreamListener>(id, queue, kSaid)) {}
    std::unique_ptr<StreamListener> listener;  // On the heap, because its address must not change.
    std::unique_ptr<Stream> stream;            // Last member: no event follows its end.
    // Numbers of the answered windows, which are those of the connections, minus 1.
    std::set<uint64_t> answered;
    uint64_t next_request = 1;
    uint64_t rows_left = 0;  // Rows that are still to come, summed over all requests.
  };

  absl::Status HandleUntil(absl::Time deadline, bool all_answered) {
    std::vector<Incoming> incoming;
    while (SteadyNow() < deadline && !(all_answered && num_answered_ == servers_.size())) {
      incoming_.TakeAll(deadline, incoming);
      for (Incoming& item : incoming) {
        PENSTOCK_RETURN_IF_ERROR(Handle(servers_[item.stream.server], item));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Handle(Server& server, Incoming& item) {
    if (auto* part = std::get_if<ReceivedPart>(&item.what)) Count(server, *part);
    const auto* event = std::get_if<StreamEvent>(&item.what);
    if (event == nullptr) return absl::OkStatus();
    if (const auto* broken = std::get_if<StreamBroken>(event)) return broken->status;
    if (const auto* error = std::get_if<StreamError>(event)) return error->status;
    if (std::holds_alternative<ServerInfo>(*event)) {
      OpenWindow window = window_;
      for (window.window = 1; window.window <= num_windows_; ++window.window) {
        server.stream->OpenWindow(window);
      }
      Ask(server);
    }
    return absl::OkStatus();
  }

  void Count(Server& server, ReceivedPart& part) {
    bytes_ += part.payload->size();
    part.payload.reset();
    server.rows_left -= std::min<uint64_t>(server.rows_left, part.rows);
    if (server.answered.insert(part.request % num_windows_).second) {
      num_answered_ += server.answered.size() == num_windows_;
    }
    Ask(server);
  }

  void Ask(Server& server) {
    for (; server.rows_left + rows_ <= uint64_t{kRequestsAhead} * num_windows_ * rows_;
         server.rows_left += rows_) {
      const uint64_t request = server.next_request++;
      server.stream->Fetch({.request = request,
                            .window = 1 + request % num_windows_,
                            .rows = rows_,
                            .dtype = dtype_,
                            .needed_at = request});
    }
  }

  const OpenWindow window_;
  const uint64_t num_windows_;
  const WireDtype dtype_;
  const uint32_t rows_;
  IncomingQueue incoming_;
  uint64_t bytes_ = 0;
  size_t num_answered_ = 0;
  std::vector<Server> servers_;  // Declared after incoming_, which the streams use.
};

// Returns the first window of the first lane that has one.
OpenWindow AnyWindow(const LoaderOptions& options, const Plan& plan) {
  const EpochOrder order = plan.Epoch(0);
  WindowId id;
  while (order.num_windows(id.lane) == 0) ++id.lane;
  const ShardPaths shards = ShardPaths::Make(*options.manifest, options.data_root);
  return MakeWindowMessage(*options.manifest, shards, plan.options(),
                           {.number = 1, .id = id, .order = {std::shared_ptr<void>(), &order}});
}

absl::StatusOr<double> ProbeOver(uint32_t connections, LoaderOptions options, WireDtype dtype,
                                 const std::vector<std::string>& addresses, absl::Duration time) {
  options.network.connections = connections;
  PENSTOCK_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options));
  PENSTOCK_ASSIGN_OR_RETURN(const Program program, Program::Compile(options.spec.message(), dtype));
  const SlotLayout layout(program, options.record_ids, 1);
  LinkProbe probe(AnyWindow(options, plan), dtype, std::max<size_t>(layout.row_bytes(), 1),
                  connections);
  PENSTOCK_RETURN_IF_ERROR(probe.Connect(options, addresses));
  return probe.Run(options.server_timeout, time);
}

}  // namespace

// Uses as many connections as a Loader may open, or one if no more are possible.
absl::StatusOr<double> ProbeLink(const LoaderOptions& options, WireDtype dtype,
                                 const std::vector<std::string>& addresses, absl::Duration time) {
  const uint32_t most = options.network.most_connections();
  absl::StatusOr<double> rate = ProbeOver(most, options, dtype, addresses, time);
  if (rate.ok() || options.network.connections != 0) return rate;
  return ProbeOver(1, options, dtype, addresses, time);
}

}  // namespace penstock
