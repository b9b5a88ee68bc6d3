#include "trainer/app/records_options.h"

#include "trainer/app/options.h"

namespace penstock {

void AddRecordsFlags(CLI::App& app, RecordsFlags& flags) {
  AddManifestFlag(app, flags.manifest)
      ->description(
          "The dataset: a DIR, a MANIFEST or server:PATH, as in training. Without --spec, images "
          "are read as the training's evaluations were; with it as evaluations of a training with "
          "that --spec are");
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
  PENSTOCK_RETURN_IF_ERROR(CheckManifestFlag(flags.manifest));
  LoaderOptions ignored;
  return FillLoaderOptions(flags.source, ignored);
}

}  // namespace penstock
