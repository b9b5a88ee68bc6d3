// The containers that records are read from.
#ifndef PENSTOCK_RECORDS_CONTAINER_CONTAINER_H_
#define PENSTOCK_RECORDS_CONTAINER_CONTAINER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/byte_source.h"
#include "records/format/compression.h"

namespace penstock {

// How a shard stores its records. The numbers are those of proto/manifest.proto.
enum class Container : uint8_t {
  kTfRecord = 0,
  kGzip = 1,        // A TFRecord file compressed with gzip.
  kZstd = 2,        // A TFRecord file compressed with zstd.
  kWebDataset = 3,  // A tar. Adjacent members of one name are a sample: webdataset.h.
  kFixed = 4,       // Records of one size without framing: fixed_records.h.
  kImageFile = 5,   // One encoded image, with the number of its class: image_file.h.
};

inline constexpr uint32_t kNumContainers = 6;

// Returns "TFRecord", "gzip", "zstd", "WebDataset", "fixed" or "image file".
absl::string_view ContainerName(Container container);

// Returns the container of a TFRecord file with this compression.
Container ContainerOf(Compression compression);

// Whether the container holds TFRecord frames, compressed or not. Records of other containers are
// turned into frames when they are read (frames.h).
bool HoldsFrames(Container container);

// Inverse of ContainerOf(). REQUIRES: HoldsFrames(container).
Compression CompressionOf(Container container);

// Detects the container from the first bytes of a file: a TFRecord file, compressed or not, or a
// tar. kFixed and kImageFile cannot be detected. An unknown file is taken for kTfRecord. Errors are
// those of ByteSource::ReadAt().
absl::StatusOr<Container> DetectContainer(const ByteSource& source);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_CONTAINER_H_
