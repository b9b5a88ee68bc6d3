#include "client/loader/loader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/loader/batch_slot.h"
#include "client/loader/driver.h"
#include "client/loader/fork_guard.h"
#include "client/loader/loader_plan.h"
#include "client/loader/open_with_transports.h"
#include "client/loader/option_names.h"
#include "client/loader/slot_layout.h"
#include "client/loader/transports.h"
#include "client/loader/window_message.h"
#include "client/servers/server_list.h"
#include "client/servers/server_source.h"
#include "records/decode/program.h"

namespace penstock {
namespace {

// `shards` must outlive the result.
FetchOptions MakeFetchOptions(const LoaderOptions& options, const ShardPaths& shards,
                              const Steps& steps, const SlotLayout& layout,
                              std::span<const std::unique_ptr<Transport>> transports,
                              const Program& program) {
  FetchOptions fetch;
  for (const auto& transport : transports) fetch.servers.push_back(transport->address());
  fetch.num_slots = NumSlotsOf(options, layout.slot_bytes(), steps);
  fetch.row_bytes = std::max<size_t>(layout.row_bytes(), 1);
  fetch.max_steps = options.max_steps;
  fetch.server_timeout = options.server_timeout;
  fetch.on_error = options.on_error;
  fetch.spec_name = options.spec_name;
  fetch.fallible_rows = program.fallible();
  fetch.seed = options.rank;
  fetch.damage_name = [manifest = options.manifest, &shards](const Damage& damage) {
    return NameDamage(*manifest, shards, damage);
  };
  fetch.find_damage = [manifest = options.manifest, &shards](const Damage& damage) {
    return FindDamage(*manifest, shards, damage);
  };
  return fetch;
}

StreamOptions StreamOptionsOf(const LoaderOptions& options, const Program& program) {
  StreamOptions stream = MakeStreamOptions(options);
  stream.replace_undecodable = options.on_error == OnError::kReplace && program.fallible();
  return stream;
}

// The sources of batches: transports to servers, or ways to make them.
struct Servers {
  std::vector<std::unique_ptr<Transport>> transports;  // To the servers known from the start.
  TransportFactory factory;              // Makes transports to servers that appear later.
  std::unique_ptr<ServerSource> source;  // Null if the set of servers is fixed.
};

class DrivenLoader final : public Loader {
 public:
  DrivenLoader(LoaderOptions options, Servers servers, Plan plan, Steps steps,
               const Program& program)
      : options_(std::move(options)),
        transports_(std::move(servers.transports)),
        source_(std::move(servers.source)),
        plan_(std::move(plan)),
        steps_(steps),
        shards_(ShardPaths::Make(*options_.manifest, options_.data_root)),
        layout_(program, options_.record_ids, steps_.max_rank_rows()),
        fetch_options_(MakeFetchOptions(options_, shards_, steps_, layout_, transports_, program)),
        driver_({*options_.manifest, shards_, plan_, layout_, options_.dtype,
                 StreamOptionsOf(options_, program), options_.report, transports_,
                 std::move(servers.factory), options_.spans, options_.check_views},
                steps_, fetch_options_) {}

  absl::Status Start() {
    PENSTOCK_ASSIGN_OR_RETURN(slots_, SlotSet::Allocate(layout_, fetch_options_.num_slots,
                                                        options_.slot_allocator, driver_));
    return driver_.Start(*slots_, std::move(source_));
  }

  absl::StatusOr<bool> Next(Batch& batch) override {
    batch = Batch();
    return HandOut(driver_.Next(), batch);
  }
  absl::StatusOr<bool> Next(Batch& batch, absl::Duration timeout) override {
    batch = Batch();
    return HandOut(driver_.Next(timeout), batch);
  }
  absl::StatusOr<bool> Take(Batch& batch) override {
    batch = Batch();
    return HandOut(driver_.Take(), batch);
  }
  void NoteWaiting(uint64_t step) override { driver_.NoteWaiting(step); }
  bool Ready() const override { return driver_.ready(); }
  void Close() override { driver_.Close(); }
  LoaderStats stats() const override { return driver_.stats(); }
  uint64_t order_fingerprint() const override { return plan_.fingerprint(); }
  uint64_t steps_per_epoch() const override { return steps_.steps_per_epoch(); }
  uint64_t steps_left() const override { return steps_.num_steps(); }

 private:
  absl::StatusOr<bool> HandOut(absl::StatusOr<std::optional<uint32_t>> slot, Batch& batch) {
    PENSTOCK_RETURN_IF_ERROR(slot.status());
    if (!slot->has_value()) return false;
    (*slots_)[**slot].steps_before = steps_.steps_before();
    batch = BatchOf((*slots_)[**slot]);
    return true;
  }

  const LoaderOptions options_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::unique_ptr<ServerSource> source_;  // Null after Start().
  const Plan plan_;
  const Steps steps_;
  const ShardPaths shards_;
  const SlotLayout layout_;
  const FetchOptions fetch_options_;
  std::unique_ptr<SlotSet> slots_;
  Driver driver_;  // Declared after the members that it uses.
};

template <typename Enum>
absl::Status NoEnumerator(absl::string_view option, Enum value, absl::string_view type) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is ", static_cast<int>(value), ", which is not a ", type));
}

template <typename Enum>
absl::Status CheckEnum(absl::string_view option, Enum value, Enum last, absl::string_view type) {
  return value <= last ? absl::OkStatus() : NoEnumerator(option, value, type);
}

}  // namespace

absl::Status LoaderOptions::Validate() const {
  if (manifest == nullptr) return absl::InvalidArgumentError("manifest is missing");
  if (spec.empty()) {
    return absl::InvalidArgumentError(
        "LoaderOptions::spec has no tensor; DecodeSpec::Load(\"chess\") returns a built-in spec, "
        "and "
        "Loader::Open() of a path chooses one");
  }
  if (dtype < WireDtype::kPacked) return NoEnumerator("dtype", dtype, "WireDtype");
  PENSTOCK_RETURN_IF_ERROR(CheckEnum("dtype", dtype, WireDtype::kF64, "WireDtype"));
  PENSTOCK_RETURN_IF_ERROR(CheckEnum("plan.split", plan.split, Split::kHoldout, "Split"));
  PENSTOCK_RETURN_IF_ERROR(
      CheckEnum("remainder", RemainderOf(*this), Remainder::kCarry, "Remainder"));
  PENSTOCK_RETURN_IF_ERROR(CheckEnum("on_error", on_error, OnError::kReplace, "OnError"));
  if (server_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("server_timeout must be positive (default 30s)");
  }
  return ParseServerList(servers).status();
}

namespace {

absl::StatusOr<std::unique_ptr<Loader>> OpenWithServers(LoaderOptions options, Servers servers) {
  PENSTOCK_RETURN_IF_ERROR(ForkGuard::CheckProcess());
  PENSTOCK_ASSIGN_OR_RETURN(LoaderParts parts, MakeParts(options));
  const bool messages_name_flags = options.messages_name_flags;
  if (options.report && !messages_name_flags) {
    options.report = [report = std::move(options.report)](absl::string_view message) {
      report(NameMembers(message));
    };
  }
  auto loader = std::make_unique<DrivenLoader>(std::move(options), std::move(servers),
                                               std::move(parts.plan), parts.steps, parts.program);
  PENSTOCK_RETURN_IF_ERROR(loader->Start());
  return std::make_unique<ForkGuard>(std::move(loader), messages_name_flags);
}

TransportFactory FactoryOf(const LoaderOptions& options) {
  EngineOptions local;
  local.data_root = ShardPaths::Make(*options.manifest, options.data_root).data_root;
  local.threads = options.local_threads;
  local.memory_budget = options.local_memory_budget;
  local.spans = options.spans;
  local.strip_cache = 0;  // The engine has one client.
  return MakeTransportFactory(local, options.network);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loader>> OpenWithTransports(
    LoaderOptions options, std::vector<std::unique_ptr<Transport>> transports) {
  return OpenWithServers(std::move(options), {std::move(transports), nullptr, nullptr});
}

absl::StatusOr<std::unique_ptr<Loader>> OpenWithSource(LoaderOptions options,
                                                       TransportFactory factory,
                                                       std::unique_ptr<ServerSource> source) {
  return OpenWithServers(std::move(options), {{}, std::move(factory), std::move(source)});
}

namespace {

absl::StatusOr<std::unique_ptr<Loader>> OpenFromList(LoaderOptions options) {
  PENSTOCK_RETURN_IF_ERROR(options.Validate());
  PENSTOCK_RETURN_IF_ERROR(ForkGuard::CheckProcess());
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<ServerTerm> terms, ParseServerList(options.servers));
  Servers servers = {{}, FactoryOf(options), nullptr};
  for (const ServerTerm& term : terms) {
    if (term.is_live()) continue;
    if (term.text == kLocalServer) {
      PENSTOCK_RETURN_IF_ERROR(ShardPaths::CheckLocal(*options.manifest, options.data_root));
    }
    PENSTOCK_ASSIGN_OR_RETURN(auto transport, servers.factory(term.text));
    servers.transports.push_back(std::move(transport));
  }
  if (servers.transports.size() < terms.size()) {
    PENSTOCK_ASSIGN_OR_RETURN(servers.source, MakeServerSource(options.servers));
  }
  return OpenWithServers(std::move(options), std::move(servers));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Loader>> Loader::Open(LoaderOptions options) {
  const bool messages_name_flags = options.messages_name_flags;
  absl::StatusOr<std::unique_ptr<Loader>> loader = OpenFromList(std::move(options));
  if (loader.ok() || messages_name_flags) return loader;
  return NameMembers(loader.status());
}

}  // namespace penstock
