// Encodes pictures as PNG files.
#ifndef PENSTOCK_BASE_DRAWING_PNG_H_
#define PENSTOCK_BASE_DRAWING_PNG_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/drawing/picture.h"

namespace penstock {

// Returns the bytes of a PNG file with 8 bits a sample. kResourceExhausted: out of memory, or a
// side is too long for libpng. REQUIRES: the picture is not empty and has 1 or 3 channels.
absl::StatusOr<std::string> EncodePng(const Picture& picture);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DRAWING_PNG_H_
