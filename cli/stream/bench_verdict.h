// Decides what limits a stream of batches, and what would help.
#ifndef PENSTOCK_CLI_STREAM_BENCH_VERDICT_H_
#define PENSTOCK_CLI_STREAM_BENCH_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "base/process/shared_cpu.h"
#include "proto/decode_spec.pb.h"

namespace penstock {

// Shares of the time of an engine's threads. They add up to at most 1. The rest is idle time.
struct EngineShares {
  double load = 0;    // Reading, decompressing and checking chunks.
  double build = 0;   // Ordering windows.
  double decode = 0;  // Decoding rows into parts.
  double send = 0;    // Handing parts to the network.
  // The mean number of reads that wait for storage at a time. Unlike the others, it is not a share.
  double reads = 0;
  double idle() const;
};

struct ServerFigures {
  std::string address = {};
  bool connected = true;     // Whether it is connected at the end.
  std::string problem = {};  // The reason why it is not connected.
  double rows_per_second = 0;
  double bytes_per_second = 0;
  bool has_engine = false;  // Whether the server reported the values below.
  EngineShares engine = {};
  double cores_used = 0;
  double cores = 0;                  // Number of cores that it may use.
  double read_bytes_per_second = 0;  // Bytes that it reads from its files.
};

// The path that rows take to this process.
enum class Path {
  kLocal,         // The engine runs in this process.
  kSharedMemory,  // All rows come from servers of this machine, through shared memory.
  kLoopback,      // All rows come from servers of this machine, but not all through shared memory.
  kNetwork,
};

const char* PathName(Path path);  // Returns "local", "shared memory", "loopback" or "network".

// The options of the run. The advice does not recommend them again.
struct BenchSetup {
  Path path = Path::kNetwork;
  bool packed_is_smaller = true;  // Whether rows of this spec have fewer bytes with packed.
  bool i8_is_smaller = true;      // Whether rows of this spec have fewer bytes with i8.
  uint32_t connections = 0;       // 0 means that the client chooses.
  bool shared_memory = true;      // False with --no-shm.
  // For kLoopback: the reason why shared memory, which was offered, does not work.
  std::string no_shared_memory_because = {};
  std::string no_connection_because = {};  // The reason why a further connection could not be made.
  uint32_t threads = 0;                    // For kLocal: the value of --threads.
};

struct BenchFigures {
  BenchSetup setup = {};
  double seconds = 0;
  absl::string_view rows_name = "rows";
  double rows_per_second = 0;
  double bytes_per_second = 0;
  double wait_share = 0;  // Share of the time that the reader waited for a batch.
  // Mean number of threads that copied or decoded rows into batches. Threads that wait for a core
  // meanwhile count too.
  double copy_share = 0;
  double deciding_share = 0;         // Share of the time that the loader decided what to request.
  double cores_used = 0;             // Cores used by this process.
  uint32_t cores = 0;                // Cores that this process may use.
  CpuUse cpu = {};                   // CPU time used by all programs of this machine.
  double link_bytes_per_second = 0;  // 0 if it was not measured.
  std::vector<ServerFigures> servers = {};  // Empty for kLocal.

  // Whether the stream carried more than the probe of the link. Then another program used the
  // machine meanwhile.
  bool link_probe_disturbed() const;
};

// Whether rows of `spec` have fewer bytes with `dtype` than with `than`. Images and int64 features
// have the same bytes with every dtype.
bool RowsAreSmaller(const v1::DecodeSpec& spec, WireDtype dtype, WireDtype than);

enum class Limit { kThisClient, kThisMachine, kLink, kReading, kServers, kThisProcess, kNothing };

struct BenchVerdict {
  Limit limit = Limit::kNothing;
  std::string text;  // One sentence names the limit with its figures. Another says what would help.
};

// Returns the first limit in this order whose condition holds:
//   this process    with local:, it uses at least kBusy of its cores or of its --threads
//   this client     the loader decides for kBusy of the time (only one thread at a time can), or,
//                   except with local:, the process uses kBusy of its cores
//   this machine    rows come from this machine, and all its programs, including the servers, use
//                   kBusy of the CPUs that this process may use or of its control group's limit.
//                   Before the link, because a local link costs only CPU
//   the servers     they use kBusy of their cores (engine, gRPC and TLS), on any path. Before the
//                   link, because its probe costs servers the same CPU. Reading instead, if most of
//                   it is loading chunks
//   the link        it carries at least kLinkBusy of what it carried without disk and copying
//   this machine    as above, but rows come over a network or from this process
//   reading         the servers' threads are busy for kBusy of the time, mostly loading chunks
//   the servers     their threads are busy for kBusy of the time, waits included
//   reading         on average, kReading reads wait for storage at a time
//   nothing         none of these: too little is requested ahead for the time that answers take
// Servers that reported nothing are not judged. The advice fits this path and spec.
BenchVerdict Judge(const BenchFigures& figures);

inline constexpr double kBusy = 0.85;
inline constexpr double kLinkBusy = 0.80;
inline constexpr double kReading = 1;
// If a stream reaches more of the link than this, the probe was disturbed and does not show the
// limit.
inline constexpr double kMostOfLink = 1.1;

const char* LimitName(Limit limit);

}  // namespace penstock

#endif  // PENSTOCK_CLI_STREAM_BENCH_VERDICT_H_
