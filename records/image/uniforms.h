// The random numbers of one image, by index.
#ifndef PENSTOCK_RECORDS_IMAGE_UNIFORMS_H_
#define PENSTOCK_RECORDS_IMAGE_UNIFORMS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counter_rng.h"

namespace penstock {

// Returns the key of the random numbers for one view of a record. An image and its mask use the
// same view, so that they get the same crop and flip.
constexpr uint64_t ImageKey(uint64_t augmentation_key, uint64_t record_ordinal, uint64_t view) {
  return DeriveKey(DeriveKey(augmentation_key, record_ordinal), view);
}

// Numbers in [0, 1). Number i does not depend on which other numbers are used. Thread-compatible.
class Uniforms {
 public:
  explicit Uniforms(uint64_t key) : key_(key) {}
  // Uses fixed numbers, for tests; 0 after the last. `numbers` must outlive this object.
  explicit Uniforms(std::span<const double> numbers) : numbers_(numbers), injected_(true) {}

  double operator[](size_t i) const {
    if (!injected_) return CounterRng(key_, i).Uniform();
    return i < numbers_.size() ? numbers_[i] : 0.0;
  }

 private:
  uint64_t key_ = 0;
  std::span<const double> numbers_;
  bool injected_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_UNIFORMS_H_
