#include "records/container/container.h"

#include <algorithm>
#include <span>

#include "base/status.h"
#include "records/container/tar_header.h"

namespace penstock {

absl::string_view ContainerName(Container container) {
  switch (container) {
    case Container::kTfRecord:
      return "TFRecord";
    case Container::kGzip:
      return "gzip";
    case Container::kZstd:
      return "zstd";
    case Container::kWebDataset:
      return "WebDataset";
    case Container::kFixed:
      return "fixed";
    case Container::kImageFile:
      return "image file";
  }
  return "unknown";
}

Container ContainerOf(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return Container::kTfRecord;
    case Compression::kGzip:
      return Container::kGzip;
    case Compression::kZstd:
      return Container::kZstd;
  }
  return Container::kTfRecord;
}

bool HoldsFrames(Container container) { return container <= Container::kZstd; }

Compression CompressionOf(Container container) {
  if (container == Container::kGzip) return Compression::kGzip;
  return container == Container::kZstd ? Compression::kZstd : Compression::kNone;
}

absl::StatusOr<Container> DetectContainer(const ByteSource& source) {
  uint8_t bytes[kTarBlock];
  const std::span<uint8_t> head(bytes, std::min<uint64_t>(sizeof(bytes), source.size()));
  PENSTOCK_RETURN_IF_ERROR(source.ReadAt(0, head));
  const Compression compression = DetectCompression(head);
  if (compression != Compression::kNone) return ContainerOf(compression);
  // An empty tar consists of blocks of zeros.
  const bool empty = std::ranges::all_of(head, [](uint8_t byte) { return byte == 0; });
  const bool tar = head.size() == kTarBlock && (empty || ParseTarHeader(head).ok());
  return tar ? Container::kWebDataset : Container::kTfRecord;
}

}  // namespace penstock
