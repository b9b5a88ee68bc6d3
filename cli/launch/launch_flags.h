// What the line of `penstock launch` says.
#ifndef PENSTOCK_CLI_LAUNCH_LAUNCH_FLAGS_H_
#define PENSTOCK_CLI_LAUNCH_LAUNCH_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/launch/launch_line.h"

namespace penstock {

struct LaunchFlags {
  uint32_t ranks = 0;
  std::string hosts;
  std::string hostfile;
  std::string gpus;
  uint32_t restarts = 0;
  std::string launcher = "auto";
  uint16_t port = 0;
  uint16_t ssh_port = 0;
  std::string interface;
  bool check_build = false;
  bool verbose = false;
  bool gloo = false;
  bool mpi = false;
  uint32_t start_timeout_s = 0;
  std::vector<std::string> variables;  // NAME or NAME=VALUE.
  std::string output_folder;
  bool timestamps = false;
  std::string ssh_key;
  LaunchLine line;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_LAUNCH_LAUNCH_FLAGS_H_
