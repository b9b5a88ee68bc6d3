// Whether two processes make the same pixels.
#ifndef PENSTOCK_RECORDS_IMAGE_LIBRARY_VERSION_H_
#define PENSTOCK_RECORDS_IMAGE_LIBRARY_VERSION_H_

#include <cstdint>
#include <string>

namespace penstock {

// SHA-256, in hexadecimal digits, over the pixels of five small images: each decoded whole, to a
// half and to a quarter of its size, and a random crop of it, resized. It covers the library for
// JPEG that is linked, the processor's path through it, and this folder's own arithmetic.
std::string ImageLibraryDigest();

// The first eight bytes of ImageLibraryDigest(), computed once for a process. Servers with
// different versions must not serve the same stream of images. Thread-safe.
uint64_t ImageLibraryVersion();

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_LIBRARY_VERSION_H_
