#include "trainer/app/records_options.h"

#include "CLI/CLI.hpp"
#include "base/status.h"
#include "trainer/app/options.h"

namespace penstock {

void AddRecordsDtypeFlag(CLI::App& app, std::string& dtype) {
  app.add_option("--dtype", dtype,
                 "Type in which chess records are sent; auto: packed. Images are always sent as "
                 "bytes")
      ->check(CLI::IsMember(kDtypes))
      ->type_name("DTYPE")
      ->group("Decoding");
}

void AddComputeThreadsFlag(CLI::App& app, uint64_t& threads) {
  app.add_option("--threads", threads, "Threads that compute; 0: the cores this process may use")
      ->group("Tuning");
}

void AddRecordsFlags(CLI::App& app, RecordsFlags& flags) {
  AddManifestFlag(app, flags.manifest);
  app.add_option("--split", flags.split, "Split to read")
      ->check(CLI::IsMember({"holdout", "train", "all"}))
      ->type_name("SPLIT")
      ->group("Data");
  AddOneReadFlags(app, flags.source);
  AddRecordsDtypeFlag(app, flags.dtype);
  AddComputeThreadsFlag(app, flags.threads);
}

absl::Status CheckRecordsFlags(const RecordsFlags& flags) {
  PENSTOCK_RETURN_IF_ERROR(CheckManifestFlag(flags.manifest));
  LoaderOptions ignored;
  return FillLoaderOptions(flags.source, ignored);
}

}  // namespace penstock
