// Usage: mean_score MANIFEST [SERVERS]. Prints the mean of the `score` tensor over one epoch of
// chess records.
#include <cstdio>
#include <memory>
#include <span>

#include "client/loader/loader.h"
#include "records/decode/spec.h"

namespace {

absl::StatusOr<std::unique_ptr<penstock::Loader>> OpenLoader(const char* manifest,
                                                             const char* servers) {
  penstock::LoaderOptions options;
  absl::StatusOr<penstock::Manifest> loaded = penstock::Manifest::Load(manifest);
  if (!loaded.ok()) return loaded.status();
  options.manifest = std::make_shared<const penstock::Manifest>(*std::move(loaded));
  absl::StatusOr<penstock::v1::DecodeSpec> spec = penstock::LoadSpec("chess");
  if (!spec.ok()) return spec.status();
  options.spec = *std::move(spec);
  options.servers = servers;
  options.dtype = penstock::WireDtype::kF32;
  options.remainder = penstock::Remainder::kShort;
  options.plan.split = penstock::Split::kAll;
  return penstock::Loader::Open(std::move(options));
}

absl::Status PrintMean(penstock::Loader& loader) {
  double sum = 0;
  size_t rows = 0;
  penstock::Batch batch;
  while (true) {
    absl::StatusOr<bool> more = loader.Next(batch);
    if (!more.ok()) return more.status();
    if (!*more) break;
    const auto* scores = reinterpret_cast<const float*>(batch.tensor("score")->bytes.data());
    for (float score : std::span(scores, batch.rows())) sum += score;
    rows += batch.rows();
  }
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
