// The records that a checkpoint's model predicts or is evaluated on, as a command line names them.
#ifndef PENSTOCK_TRAINER_APP_RECORDS_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_RECORDS_OPTIONS_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "client/flags/source_flags.h"
#include "trainer/app/image_options.h"

namespace penstock {

struct RecordsFlags {
  std::string manifest;
  std::string split = "holdout";
  SourceFlags source;
  std::string dtype = kAutoValue;
  uint64_t threads = 0;
};

// kInvalidArgument names the flag: --manifest is missing, or FillLoaderOptions().
absl::Status CheckRecordsFlags(const RecordsFlags& flags);

// `flags` must outlive `app`.
void AddRecordsFlags(CLI::App& app, RecordsFlags& flags);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RECORDS_OPTIONS_H_
