#include "trainer/app/records_options.h"

#include "trainer/app/options.h"

namespace penstock {

void AddRecordsFlags(CLI::App& app, RecordsFlags& flags) {
  app.add_option(
      "--manifest", flags.manifest,
      "Manifest of the data, its folder, or server:PATH, as in training. Without --spec, "
      "images are read as the training's evaluations were; with it as evaluations of a training "
      "with that --spec are");
  app.add_option("--split", flags.split, "Which records; each is read once, in file order")
      ->check(CLI::IsMember({"holdout", "train", "all"}));
  AddOneReadFlags(app, flags.source);
  app.add_option("--dtype", flags.dtype,
                 "How chess records travel; auto: packed. Images travel as bytes")
      ->check(CLI::IsMember(kDtypes));
  app.add_option("--threads", flags.threads,
                 "Threads that compute; 0: the cores of its control group");
}

absl::Status CheckRecordsFlags(const RecordsFlags& flags) {
  if (flags.manifest.empty()) return absl::InvalidArgumentError("--manifest is required");
  LoaderOptions ignored;
  return FillLoaderOptions(flags.source, ignored);
}

}  // namespace penstock
