// Parses any payload after a valid header, and any bytes at all, as a manifest. A manifest that is
// accepted must be consistent and survive a round trip.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes_of.h"
#include "base/crc32c.h"
#include "records/dataset/image_statistics.h"
#include "records/dataset/manifest.h"

namespace {

void Check(std::span<const uint8_t> bytes) {
  absl::StatusOr<penstock::Manifest> manifest = penstock::Manifest::Parse(bytes);
  if (!manifest.ok()) return;
  for (size_t i = 0; i < manifest->num_chunks(); ++i) {
    const penstock::ChunkInfo chunk = manifest->chunk(i);
    if (chunk.offset + chunk.size > manifest->shards()[chunk.shard].size) abort();
    if (manifest->Locate(chunk.ordinal).first != i) abort();
  }
  for (const penstock::ImageStatistics& statistics : penstock::StatisticsOf(*manifest)) {
    for (const double mean : statistics.mean) {
      if (!(mean >= 0 && mean <= 1)) abort();
    }
    for (const double deviation : statistics.deviation) {
      if (!(deviation >= 0 && deviation <= 1)) abort();
    }
  }
  const std::string again = manifest->Serialize().value();
  absl::StatusOr<penstock::Manifest> parsed = penstock::Manifest::Parse(penstock::BytesOf(again));
  if (!parsed.ok() || parsed->content_fingerprint() != manifest->content_fingerprint()) abort();
  if (parsed->Serialize().value() != again) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Check({data, size});
  std::vector<uint8_t> framed(24);
  std::memcpy(framed.data(), "PNSTKM\x1a\n\x01\0\0\0", 12);
  const uint32_t crc = penstock::Crc32c({data, size});
  const uint64_t length = size;
  std::memcpy(framed.data() + 12, &crc, sizeof(crc));
  std::memcpy(framed.data() + 16, &length, sizeof(length));
  framed.insert(framed.end(), data, data + size);
  Check(framed);
  return 0;
}
