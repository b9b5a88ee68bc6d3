// penstock-train export: the weights of a checkpoint for other programs.
#ifndef PENSTOCK_TRAINER_APP_EXPORT_COMMAND_H_
#define PENSTOCK_TRAINER_APP_EXPORT_COMMAND_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"

namespace penstock {

struct ExportOptions {
  std::string checkpoint;
  std::string to;
};

// `options` must outlive `app`.
void AddExportOptions(CLI::App& app, ExportOptions& options);

// Writes the safetensors file and a line on stdout.
absl::Status RunExport(const ExportOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_EXPORT_COMMAND_H_
