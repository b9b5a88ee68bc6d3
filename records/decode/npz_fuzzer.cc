// Reads any bytes as an archive of NumPy arrays, and as one array. Reading must end or fail, with
// bounded memory.
#include <memory>
#include <utility>
#include <vector>

#include "base/io/testing/memory_source.h"
#include "base/io/zip_reader.h"
#include "records/decode/npy_reader.h"

namespace {

void ReadArray(std::unique_ptr<penstock::ByteStream> bytes) {
  absl::StatusOr<penstock::NpyReader> reader = penstock::NpyReader::Open(std::move(bytes), "fuzz");
  if (!reader.ok()) return;
  for (uint64_t row = 0; row < reader->rows(); ++row) {
    if (!reader->Next().ok()) return;
  }
  reader->Finish().IgnoreError();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const penstock::MemorySource source("fuzz", std::vector<uint8_t>(data, data + size));
  ReadArray(std::make_unique<penstock::SourceStream>(source));
  const absl::StatusOr<std::vector<penstock::ZipMember>> members = penstock::ListZip(source);
  if (!members.ok()) return 0;
  for (const penstock::ZipMember& member : *members) {
    absl::StatusOr<std::unique_ptr<penstock::ByteStream>> bytes =
        penstock::OpenZipMember(source, member);
    if (bytes.ok()) ReadArray(*std::move(bytes));
  }
  return 0;
}
