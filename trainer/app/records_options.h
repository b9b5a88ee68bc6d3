// Command-line options that name records for a checkpoint's model to predict or to be evaluated on.
#ifndef PENSTOCK_TRAINER_APP_RECORDS_OPTIONS_H_
#define PENSTOCK_TRAINER_APP_RECORDS_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/flags/source_flags.h"
#include "trainer/app/image_options.h"

namespace CLI {
class App;
}

namespace penstock {

struct RecordsFlags {
  std::string manifest;
  std::string split = "holdout";
  SourceFlags source;
  std::string dtype = kAutoValue;
  uint64_t threads = 0;
};

// kInvalidArgument: --manifest is missing, or an error of FillLoaderOptions(); the message names
// the flag.
absl::Status CheckRecordsFlags(const RecordsFlags& flags);

// `flags` must outlive `app`. Sets the group of the options that are added next.
void AddRecordsFlags(CLI::App& app, RecordsFlags& flags);

// These add --dtype and --threads, which training has too. `dtype` and `threads` must outlive
// `app`.
void AddRecordsDtypeFlag(CLI::App& app, std::string& dtype);
void AddComputeThreadsFlag(CLI::App& app, uint64_t& threads);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_RECORDS_OPTIONS_H_
