// Tells whether two processes compute the same pixels.
#ifndef PENSTOCK_RECORDS_IMAGE_LIBRARY_VERSION_H_
#define PENSTOCK_RECORDS_IMAGE_LIBRARY_VERSION_H_

#include <cstdint>
#include <string>

namespace penstock {

// Returns the SHA-256, as hexadecimal digits, over the pixels of five small images: each decoded at
// full, half and quarter size, and a random crop of each, resized. It depends on the JPEG library
// that is linked, on the processor's path through it, and on the arithmetic of this folder.
std::string ImageLibraryDigest();

// Returns the first eight bytes of ImageLibraryDigest(), computed once for each process. Servers
// with different versions must not serve the same stream of images. Thread-safe.
uint64_t ImageLibraryVersion();

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_LIBRARY_VERSION_H_
