// Any bytes as a tf.train.Example: a finder that has seen other records answers as a fresh one.
#include <cstdlib>
#include <vector>

#include "records/format/example.h"
#include "records/format/feature_finder.h"

namespace {

bool Same(const penstock::FoundFeatures& a, const penstock::FoundFeatures& b) {
  for (size_t i = 0; i < a.bytes.size(); ++i) {
    if (a.bytes[i].data() != b.bytes[i].data() || a.bytes[i].size() != b.bytes[i].size()) {
      return false;
    }
  }
  return a.ints == b.ints;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using penstock::FeatureFinder;
  using penstock::FeatureType;
  std::span<const uint8_t> payload(data, size);
  absl::Status whole = penstock::ForEachFeature(payload, [](const penstock::FeatureView&) {});
  static FeatureFinder* const old =
      new FeatureFinder(*FeatureFinder::Create({{"d", FeatureType::kBytes, 0},
                                                {"s", FeatureType::kInt64, 1},
                                                {"t", FeatureType::kInt64, 2}}));
  FeatureFinder fresh = *FeatureFinder::Create(old->specs());
  penstock::FoundFeatures a = old->MakeFound(), b = fresh.MakeFound();
  const absl::Status from_old = old->Find(payload, a), from_fresh = fresh.Find(payload, b);
  if (from_old != from_fresh) abort();
  if (from_old.ok() && !Same(a, b)) abort();
  return 0;
}
