#include "trainer/comm/rank_info.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/counter_rng.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

// Names of one launcher's variables; null if it has no such variable.
struct Launcher {
  const char* name;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_size;
  const char* job;
  const char* generation;
};

constexpr Launcher kTorchrun{"torchrun",
                             "RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "TORCHELASTIC_RUN_ID",
                             "TORCHELASTIC_RESTART_COUNT"};
constexpr Launcher kOpenMpi{"Open MPI",
                            "OMPI_COMM_WORLD_RANK",
                            "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE",
                            "PMIX_NAMESPACE",
                            nullptr};
// Slurm's world size is not SLURM_NTASKS, because a batch script has that too, and is not a rank.
// SLURM_STEP_TASKS_PER_NODE replaces a local size.
constexpr Launcher kSlurm{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
                          nullptr, "SLURM_JOB_ID", "SLURM_RESTART_COUNT"};
constexpr Launcher kPmi{"PMI",       "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                        "PMI_JOBID", nullptr};
constexpr Launcher kHorovod{"Horovod",
                            "HOROVOD_RANK",
                            "HOROVOD_SIZE",
                            "HOROVOD_LOCAL_RANK",
                            "HOROVOD_LOCAL_SIZE",
                            "HOROVOD_GLOO_RENDEZVOUS_PORT",
                            nullptr};

// Reads variables, and remembers missing and wrong ones.
class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  std::string Text(const char* name) {
    if (std::string text = Optional(name); !text.empty()) return text;
    Lack(name);
    return "";
  }
  void Lack(std::string names) { missing_.push_back(std::move(names)); }
  std::string Optional(const char* name) const {
    if (name == nullptr) return "";
    const auto it = environment_.find(name);
    return it == environment_.end() ? "" : it->second;
  }
  template <typename T>
  T Number(const char* name) {
    const std::string text = Text(name);
    return text.empty() ? 0 : Parse<T>(name, text);
  }
  // Returns `otherwise` if the variable is not set.
  template <typename T>
  T OptionalNumber(const char* name, T otherwise) {
    const std::string text = Optional(name);
    return text.empty() ? otherwise : Parse<T>(name, text);
  }

  bool complete() const { return missing_.empty(); }
  absl::Status status() const {
    if (!wrong_.empty()) return absl::InvalidArgumentError(wrong_);
    if (missing_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(missing_, " and "));
  }

 private:
  template <typename T>
  T Parse(const char* name, const std::string& text) {
    T value = 0;
    if (!absl::SimpleAtoi(text, &value)) {
      wrong_ = absl::StrCat(name, "=", text, " must be a whole number, 0 or more");
    }
    return value;
  }

  const Environment& environment_;
  std::vector<std::string> missing_;
  std::string wrong_;
};

// Ranks on one host meet at a unique name; a port could be in use.
std::string LocalRendezvous(const RankInfo& info) {
  return absl::StrCat("unix-abstract:penstock-", getuid(), "-", info.job, "-", info.generation);
}

// Returns the same port on every rank of a job. Two jobs on one machine rarely get the same one.
uint32_t PortOf(const RankInfo& info) {
  uint64_t key = DeriveKey(0, info.generation);
  for (const char c : info.job) key = DeriveKey(key, static_cast<uint8_t>(c));
  return 20000 + static_cast<uint32_t>(key % 12000);  // Below the ports that systems assign.
}

RankInfo ReadLauncher(const Launcher& launcher, Reader& reader) {
  RankInfo info;
  info.source = launcher.name;
  info.rank = reader.Number<uint32_t>(launcher.rank);
  info.world_size = reader.Number<uint32_t>(launcher.world_size);
  info.local_rank = reader.Number<uint32_t>(launcher.local_rank);
  if (launcher.local_size != nullptr) {
    info.local_size = reader.Number<uint32_t>(launcher.local_size);
  }
  info.job = reader.Optional(launcher.job);
  info.generation = reader.OptionalNumber<uint64_t>(launcher.generation, 0);
  return info;
}

RankInfo ReadTorchrun(Reader& reader) {
  RankInfo info = ReadLauncher(kTorchrun, reader);
  const std::string host = reader.Text("MASTER_ADDR");
  // If torchrun's agent keeps the workers' store, it listens at the port itself.
  const bool taken = reader.Optional("TORCHELASTIC_USE_AGENT_STORE") == "True";
  const auto port = reader.Number<uint32_t>("MASTER_PORT") + (taken ? 1 : 0);
  info.rendezvous = absl::StrCat(host, ":", port);
  return info;
}

// On several hosts, ranks can only meet at an address that is given.
void SetRendezvous(const Launcher& launcher, Reader& reader, RankInfo& info) {
  const std::string told = reader.Optional("PENSTOCK_RENDEZVOUS");
  if (!told.empty()) {
    info.rendezvous = told;
  } else if (info.one_host() && !info.job.empty()) {
    info.rendezvous = LocalRendezvous(info);
  } else if (const std::string host = reader.Optional("MASTER_ADDR"); !host.empty()) {
    info.rendezvous = absl::StrCat(host, ":", reader.OptionalNumber("MASTER_PORT", PortOf(info)));
  } else if (info.one_host()) {
    reader.Lack(launcher.job == nullptr ? "PENSTOCK_RENDEZVOUS"
                                        : absl::StrCat(launcher.job, " or PENSTOCK_RENDEZVOUS"));
  } else {
    reader.Text("PENSTOCK_RENDEZVOUS");
  }
}

RankInfo ReadMpi(const Launcher& launcher, Reader& reader) {
  RankInfo info = ReadLauncher(launcher, reader);
  SetRendezvous(launcher, reader, info);
  return info;
}

// Parses "4(x2),3", the tasks of each node in turn, and returns those of this node.
uint32_t TasksOfNode(absl::string_view tasks_per_node, uint32_t node) {
  uint32_t first = 0;
  for (absl::string_view group : absl::StrSplit(tasks_per_node, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(group, absl::ByAnyChar("(x)"));
    uint32_t tasks = 0, nodes = 1;
    if (!absl::SimpleAtoi(parts[0], &tasks)) return 0;
    if (parts.size() > 2 && !absl::SimpleAtoi(parts[2], &nodes)) return 0;
    if (node < first + nodes) return tasks;
    first += nodes;
  }
  return 0;
}

RankInfo ReadSlurm(Reader& reader) {
  RankInfo info = ReadLauncher(kSlurm, reader);
  info.job = absl::StrCat(reader.Text("SLURM_JOB_ID"), ".", reader.Text("SLURM_STEP_ID"));
  info.local_size = TasksOfNode(reader.Text("SLURM_STEP_TASKS_PER_NODE"),
                                reader.OptionalNumber<uint32_t>("SLURM_NODEID", 0));
  const std::string told = reader.Optional("PENSTOCK_RENDEZVOUS");
  if (!told.empty()) {
    info.rendezvous = told;
  } else if (info.one_host()) {
    info.rendezvous = LocalRendezvous(info);
  } else {
    info.rendezvous =
        absl::StrCat(FirstHost(reader.Text("SLURM_STEP_NODELIST")), ":", PortOf(info));
  }
  return info;
}

// {"cluster": {"chief": [...], "worker": ["host:port", ...]}, "task": {"type": ..., "index": 1}}:
// the chief, if there is one, is rank 0. All ranks meet at rank 0's address.
absl::StatusOr<RankInfo> ReadTfConfig(const std::string& text) {
  try {  // nlohmann's accessors throw if a field is missing or ill-typed.
    const nlohmann::json json = nlohmann::json::parse(text);
    const nlohmann::json& cluster = json.at("cluster");
    const std::string type = json.at("task").at("type");
    const uint32_t index = json.at("task").at("index");
    std::vector<std::string> hosts;
    std::optional<size_t> rank;
    for (const char* role : {"chief", "worker"}) {
      if (!cluster.contains(role)) continue;
      if (type == role) rank = hosts.size() + index;
      for (const auto& host : cluster.at(role)) hosts.push_back(host);
    }
    if (!rank.has_value() || hosts.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("TF_CONFIG: the task of type ", type,
                       " is not among the chief and workers of the cluster"));
    }
    RankInfo info{.source = "TF_CONFIG",
                  .rank = static_cast<uint32_t>(*rank),
                  .world_size = static_cast<uint32_t>(hosts.size()),
                  .local_size = 0,
                  .rendezvous = hosts.front()};
    for (size_t r = 0; r < hosts.size(); ++r) {
      auto host_of = [&](size_t i) { return hosts[i].substr(0, hosts[i].rfind(':')); };
      if (*rank >= hosts.size() || host_of(r) != host_of(*rank)) continue;
      ++info.local_size;
      if (r < *rank) ++info.local_rank;
    }
    return info;
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("TF_CONFIG: ", error.what()));
  }
}

absl::StatusOr<RankInfo> FromOptions(const RankOptions& options) {
  if (!options.rank.has_value() || !options.world_size.has_value()) {
    return absl::InvalidArgumentError(
        "--rank and --world-size must be given together; with more than one rank, give "
        "--rendezvous, too");
  }
  const RankInfo info{.source = "--rank",
                      .rank = *options.rank,
                      .world_size = *options.world_size,
                      .local_rank = options.local_rank.value_or(*options.rank),
                      .local_size = options.local_size.value_or(*options.world_size)};
  if (info.world_size > 1 && options.rendezvous.empty()) {
    return absl::InvalidArgumentError(
        "--rendezvous is missing: give HOST:PORT where rank 0 listens, the same on every rank");
  }
  return info;
}

absl::StatusOr<RankInfo> FromEnvironment(const Environment& environment) {
  struct Set {
    const Launcher& launcher;
    RankInfo (*read)(Reader&);
  };
  const Set sets[] = {{kTorchrun, ReadTorchrun},
                      {kOpenMpi, [](Reader& r) { return ReadMpi(kOpenMpi, r); }},
                      {kSlurm, ReadSlurm},
                      {kPmi, [](Reader& r) { return ReadMpi(kPmi, r); }},
                      {kHorovod, [](Reader& r) { return ReadMpi(kHorovod, r); }}};
  absl::Status begun;
  for (const Set& set : sets) {
    Reader reader(environment);
    const RankInfo info = set.read(reader);
    if (reader.status().ok()) return info;
    // A Slurm batch script has a SLURM_PROCID, but no step.
    const char* mark = &set.launcher == &kSlurm ? kSlurm.world_size : set.launcher.rank;
    if (begun.ok() && environment.contains(mark)) {
      begun = reader.complete()
                  ? Annotate(reader.status(), set.launcher.name)
                  : absl::InvalidArgumentError(absl::StrCat(
                        "the environment holds ", mark, " of ", set.launcher.name, " but not ",
                        reader.status().message(),
                        ": set what is missing, or give --rank, --world-size and --rendezvous"));
    }
  }
  if (const auto it = environment.find("TF_CONFIG"); it != environment.end()) {
    return ReadTfConfig(it->second);
  }
  if (!begun.ok()) return begun;
  return RankInfo();
}

// Takes the settings of penstock launch or the user, which override every launcher's.
absl::Status TakeTold(const Environment& environment, RankInfo& info) {
  Reader reader(environment);
  auto take = [&](const char* name, std::string& value) {
    if (std::string told = reader.Optional(name); !told.empty()) value = std::move(told);
  };
  take("PENSTOCK_RENDEZVOUS", info.rendezvous);
  take("PENSTOCK_JOB", info.job);
  info.generation = reader.OptionalNumber("PENSTOCK_GENERATION", info.generation);
  return reader.status();
}

}  // namespace

std::string FirstHost(absl::string_view node_list) {
  const size_t end = node_list.find_first_of(",[");
  std::string host(node_list.substr(0, end));
  if (end == absl::string_view::npos || node_list[end] == ',') return host;
  const absl::string_view inside = node_list.substr(end + 1);
  absl::StrAppend(&host, inside.substr(0, inside.find_first_of(",-]")));
  const size_t close = inside.find(']');
  if (close == absl::string_view::npos) return host;
  const absl::string_view rest = inside.substr(close + 1);
  return absl::StrCat(host, rest.substr(0, rest.find(',')));
}

absl::StatusOr<RankInfo> FindRank(const RankOptions& options, const Environment& environment) {
  const bool told = options.rank.has_value() || options.world_size.has_value();
  PENSTOCK_ASSIGN_OR_RETURN(RankInfo info,
                            told ? FromOptions(options) : FromEnvironment(environment));
  PENSTOCK_RETURN_IF_ERROR(TakeTold(environment, info));
  if (!options.rendezvous.empty()) info.rendezvous = options.rendezvous;
  if (info.world_size == 0 || info.rank >= info.world_size) {
    return absl::InvalidArgumentError(absl::StrCat(info.source, ": rank ", info.rank,
                                                   " does not exist: there are ", info.world_size,
                                                   " ranks, counted from 0"));
  }
  if (info.local_size == 0 || info.local_rank >= info.local_size ||
      info.local_size > info.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(info.source, ": local rank ", info.local_rank, ", ", info.local_size,
                     " ranks on this host and ", info.world_size,
                     " ranks in total do not fit together: the local rank must be below the number "
                     "on this host, and that number at most the total"));
  }
  return info;
}

}  // namespace penstock
