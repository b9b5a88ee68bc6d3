// Runs a penstock-server in a process of its own, so that its CPU time is separate from the
// client's.
#ifndef PENSTOCK_BENCH_SERVER_PROCESS_H_
#define PENSTOCK_BENCH_SERVER_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

// The destructor kills the process. Not thread-safe.
class ServerProcess {
 public:
  // Runs the penstock-server in the folder of this program, on a free loopback port and with the
  // additional `arguments`. Returns when it serves.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(
      const std::string& data_root, const std::vector<std::string>& arguments = {});
  ~ServerProcess();

  const std::string& address() const { return address_; }
  // Returns the user and system time since its start, in seconds, from /proc.
  double CpuSeconds() const;

 private:
  explicit ServerProcess(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_BENCH_SERVER_PROCESS_H_
