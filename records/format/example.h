// Reads tf.train.Example by walking its bytes, without protobuf objects.
//
//   message Example   { Features features = 1; }
//   message Features  { map<string, Feature> feature = 1; }
//   message Feature   { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
//                                    Int64List int64_list = 3; } }
//   message BytesList { repeated bytes value = 1; }    // FloatList, Int64List: packed or not
//
// As in TensorFlow, the last entry of a name counts. Unknown fields are skipped.
#ifndef PENSTOCK_RECORDS_FORMAT_EXAMPLE_H_
#define PENSTOCK_RECORDS_FORMAT_EXAMPLE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace penstock {

// The numbers are those of the lists in message Feature.
enum class FeatureType : uint8_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

// Returns "none", "bytes", "float" or "int64".
absl::string_view FeatureTypeName(FeatureType type);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_FORMAT_EXAMPLE_H_
