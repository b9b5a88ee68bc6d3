// For any bytes as a tf.train.Example or SequenceExample, a finder that has seen other records must
// return the same as a fresh finder, and the finder of plain records must find the same or nothing.
#include <cstdlib>
#include <vector>

#include "records/format/feature_finder.h"
#include "records/format/testing/same_features.h"

namespace penstock {
namespace {

void Compare(FeatureFinder& old, std::span<const uint8_t> payload) {
  FeatureFinder fresh = *FeatureFinder::Create(old.specs());
  FoundFeatures a = old.MakeFound(), b = fresh.MakeFound();
  const absl::Status from_old = old.Find(payload, a), from_fresh = fresh.Find(payload, b);
  if (from_old != from_fresh) abort();
  if (from_old.ok() && !SameFeatures(a, b)) abort();

  std::vector<size_t> slots;
  for (size_t i = 0; i < old.specs().size(); ++i) slots.push_back(old.slot(i));
  if (!PlainFinder(old.specs(), slots).Find(payload, a)) return;
  if (!from_fresh.ok() || !SameFeatures(a, b)) abort();
}

FeatureFinder* Finder(const std::vector<FeatureUse>& specs) {
  return new FeatureFinder(*FeatureFinder::Create(specs));
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using enum penstock::FeatureType;
  using penstock::VariableUse;
  static penstock::FeatureFinder* const fixed =
      penstock::Finder({{"d", kBytes, 0}, {"s", kInt64, 1}, {"t", kInt64, 2}});
  static penstock::FeatureFinder* const variable = penstock::Finder(
      {{"d", kBytes, 0, VariableUse{.optional = true, .max_count = 100}},
       {"s", kInt64, 0, VariableUse{.optional = true, .max_count = 3}},
       {"s", kNone, 0, VariableUse{.optional = true, .list = true}},
       {"t", kFloat, 0, VariableUse{.optional = true, .multiple = 2}},
       {"d", kBytes, 0, VariableUse{.optional = true, .sequence = true, .list = true}},
       {"s", kInt64, 0, VariableUse{.optional = true, .sequence = true}}});
  static penstock::FeatureFinder* const plain =
      penstock::Finder({{"d", kBytes, 0, VariableUse{.optional = true, .max_count = 100}},
                        {"s", kInt64, 0, VariableUse{.optional = true, .max_count = 3}},
                        {"t", kFloat, 0, VariableUse{.optional = true, .multiple = 2}}});
  static penstock::FeatureFinder* const alternatives = penstock::Finder(
      {{"d|t", kBytes, 0, VariableUse{.optional = true, .max_count = 100}}, {"s|u", kInt64, 1}});
  penstock::Compare(*alternatives, {data, size});
  penstock::Compare(*fixed, {data, size});
  penstock::Compare(*plain, {data, size});
  penstock::Compare(*variable, {data, size});
  return 0;
}
