// penstock-train devices: what this build finds on this machine to compute and exchange with.
#ifndef PENSTOCK_TRAINER_APP_DEVICES_COMMAND_H_
#define PENSTOCK_TRAINER_APP_DEVICES_COMMAND_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace penstock {

struct DevicesOptions {};

// `options` must outlive `app`.
void AddDevicesOptions(CLI::App& app, DevicesOptions& options);

// The lines that RunDevices() prints: "[X] NCCL 2.28.3: /usr/lib/libnccl.so.2" for what is there,
// "[ ] GPU: no NVIDIA driver" for what is not. Opens every GPU.
std::string DescribeDevices();

absl::Status RunDevices(const DevicesOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_DEVICES_COMMAND_H_
