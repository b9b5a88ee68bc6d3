// What holds a stream of batches back, and what would help.
#ifndef PENSTOCK_CLI_STREAM_BENCH_VERDICT_H_
#define PENSTOCK_CLI_STREAM_BENCH_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "base/process/shared_cpu.h"

namespace penstock {

// Shares of the time of an engine's threads; together at most 1, the rest they were idle.
struct EngineShares {
  double load = 0;    // Reading chunks, and unpacking and checking them.
  double build = 0;   // Ordering windows.
  double decode = 0;  // Rows into parts.
  double send = 0;    // Handing parts to the network.
  // Beside them: reads that wait for storage, under way at a time.
  double reads = 0;
  double idle() const;
};

struct ServerFigures {
  std::string address = {};
  bool connected = true;     // In the end.
  std::string problem = {};  // Else: why not.
  double rows_per_second = 0;
  double bytes_per_second = 0;
  bool has_engine = false;  // It told what follows.
  EngineShares engine = {};
  double cores_used = 0;
  double cores = 0;                  // That it may use.
  double read_bytes_per_second = 0;  // From its files.
};

// How rows come here.
enum class Path {
  kLocal,         // The engine runs in this process.
  kSharedMemory,  // Of this machine's servers, all of them.
  kLoopback,      // From servers of this machine, not all through shared memory.
  kNetwork,
};

const char* PathName(Path path);  // "local", "shared memory", "loopback", "network".

// What was asked for: it is not advised.
struct BenchSetup {
  Path path = Path::kNetwork;
  WireDtype dtype = WireDtype::kI8;
  bool packable = true;                       // Packed takes fewer bytes.
  uint32_t connections = 0;                   // 0: as many as it takes.
  bool shared_memory = true;                  // False: --no-shm.
  std::string no_shared_memory_because = {};  // kLoopback: it was offered and does not work.
  std::string no_connection_because = {};     // A further one was tried in vain.
  uint32_t threads = 0;                       // kLocal: --threads.
};

struct BenchFigures {
  BenchSetup setup = {};
  double seconds = 0;
  absl::string_view rows_name = "rows";
  double rows_per_second = 0;
  double bytes_per_second = 0;
  double wait_share = 0;                    // Of the time, the reader waited for a batch.
  double copy_share = 0;                    // Copying or decoding rows into batches, of one core.
  double deciding_share = 0;                // Of the time, the loader decided what to ask for.
  double cores_used = 0;                    // By this process.
  uint32_t cores = 0;                       // That it may use.
  CpuUse cpu = {};                          // By all programs of this machine.
  double link_bytes_per_second = 0;         // 0: not measured.
  std::vector<ServerFigures> servers = {};  // Empty of kLocal.

  // The link carried more than its probe did: something else used the machine meanwhile.
  bool link_probe_disturbed() const;
};

enum class Limit { kThisClient, kThisMachine, kLink, kReading, kServers, kThisProcess, kNothing };

struct BenchVerdict {
  Limit limit = Limit::kNothing;
  std::string
      text;  // A sentence that names the limit with its figures, and one on what would help.
};

// The first that is true, in this order:
//   this process    local:, and it uses at least kBusy of its cores or of its --threads
//   this client     the loader decides, which takes one thread at a time, for kBusy of the time, or
//                   the process uses so much of its cores
//   this machine    all its programs together, servers here among them, use kBusy of the CPUs that
//                   this process may use or of its control group's limit; before the link where
//                   rows come from this machine, for there CPU is all that a link costs
//   the servers     over a network or not, they use kBusy of their cores: engine, gRPC and TLS;
//                   before the link, whose probe costs them the same CPU. Reading, where most of
//                   it is loading chunks
//   the link        at least kLinkBusy of what the same link carried without disk and copying
//   this machine    the same where rows come over a network
//   reading         servers are busy for kBusy of the time, most of it loading chunks
//   the servers     servers are busy for kBusy of the time, waits included
//   reading         kReading reads that wait for storage are under way at a time, on average
//   nothing         else: what is asked for ahead is too little for the time it takes to come
// Servers that told nothing are not judged. What would help is said for this path and dtype.
BenchVerdict Judge(const BenchFigures& figures);

inline constexpr double kBusy = 0.85;
inline constexpr double kLinkBusy = 0.80;
inline constexpr double kReading = 1;
// A stream that reaches more of it than this says that the probe was disturbed, not what limits.
inline constexpr double kMostOfLink = 1.1;

const char* LimitName(Limit limit);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_BENCH_VERDICT_H_
