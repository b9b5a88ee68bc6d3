// The kinds of files that records are read from.
#ifndef PENSTOCK_RECORDS_CONTAINER_CONTAINER_H_
#define PENSTOCK_RECORDS_CONTAINER_CONTAINER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/io/byte_source.h"
#include "records/format/compression.h"

namespace penstock {

// How a shard holds its records. The numbers are those of proto/manifest.proto.
enum class Container : uint8_t {
  kTfRecord = 0,
  kGzip = 1,        // A TFRecord file, compressed.
  kZstd = 2,        // The same.
  kWebDataset = 3,  // A tar whose members of one name are a sample: webdataset.h.
  kFixed = 4,       // Records of one size, without anything between them: fixed_records.h.
  kImageFile = 5,   // One encoded image of a class: image_file.h.
};

inline constexpr uint32_t kNumContainers = 6;

// "TFRecord", "gzip", "zstd", "WebDataset", "fixed", "image file".
absl::string_view ContainerName(Container container);

// Of a TFRecord file with this compression.
Container ContainerOf(Compression compression);

// Whether it holds TFRecord frames, compressed or not. Others become frames when they are read
// (frames.h).
bool HoldsFrames(Container container);

// REQUIRES: HoldsFrames(container).
Compression CompressionOf(Container container);

// By the first bytes of a file: a TFRecord file, compressed or not, or a tar. kFixed and kImageFile
// cannot be told by their bytes; what is nothing known is kTfRecord.
absl::StatusOr<Container> DetectContainer(const ByteSource& source);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_CONTAINER_H_
