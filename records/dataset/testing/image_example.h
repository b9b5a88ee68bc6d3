// Makes records with images.
#ifndef PENSTOCK_RECORDS_DATASET_TESTING_IMAGE_EXAMPLE_H_
#define PENSTOCK_RECORDS_DATASET_TESTING_IMAGE_EXAMPLE_H_

#include <cstddef>
#include <string>

#include "records/format/testing/wire_writer.h"
#include "records/image/self_test_images.h"

namespace penstock {

// A small JPEG without its last `cut` bytes.
inline std::string SmallImage(size_t cut = 0) {
  const auto jpeg = SelfTestImages()[0];
  return std::string(jpeg.begin(), jpeg.end() - static_cast<ptrdiff_t>(cut));
}

inline std::string ImageExample(const std::string& encoded) {
  return Example(Entry("image/class/label", Int64Kind(1)) +
                 Entry("image/encoded", BytesKind(encoded)));
}

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DATASET_TESTING_IMAGE_EXAMPLE_H_
