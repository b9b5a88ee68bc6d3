// Usage: mean_score MANIFEST [SERVERS]. Prints the mean of the `score` tensor over one epoch of
// chess records.
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "penstock/penstock.h"

namespace {

absl::StatusOr<std::unique_ptr<penstock::Loader>> OpenLoader(const char* manifest,
                                                             const char* servers) {
  penstock::LoaderOptions options;
  options.servers = servers;
  options.dtype = penstock::WireDtype::kF32;
  options.remainder = penstock::Remainder::kShort;
  options.plan.split = penstock::Split::kAll;
  return penstock::Loader::Open(manifest, std::move(options));
}

absl::Status PrintMean(penstock::Loader& loader) {
  double sum = 0;
  size_t rows = 0;
  penstock::Batch batch;
  absl::StatusOr<bool> more = loader.Next(batch);
  for (; more.ok() && *more; more = loader.Next(batch)) {
    absl::StatusOr<std::span<const float>> scores = batch.Values<float>("score");
    if (!scores.ok()) return scores.status();
    for (float score : *scores) sum += score;
    rows += batch.rows();
  }
  if (!more.ok()) return more.status();
  std::printf("%zu positions, mean score %.6f\n", rows, sum / static_cast<double>(rows));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: mean_score MANIFEST [SERVERS]\n");
    return 2;
  }
  absl::StatusOr<std::unique_ptr<penstock::Loader>> loader =
      OpenLoader(argv[1], argc > 2 ? argv[2] : "local:");
  absl::Status status = loader.ok() ? PrintMean(**loader) : loader.status();
  if (!status.ok()) std::fprintf(stderr, "mean_score: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
