#include "records/container/frames.h"

#include "base/status.h"
#include "records/container/fixed_records.h"
#include "records/container/image_file.h"
#include "records/container/webdataset.h"
#include "records/format/tfrecord.h"

namespace penstock {
namespace {

absl::Status CutIntoFrames(RecordCutter& cutter, std::span<const uint8_t> bytes,
                           std::span<uint8_t> frames) {
  while (true) {
    PENSTOCK_ASSIGN_OR_RETURN(const RecordCutter::Cut cut, cutter.Next(bytes, /*at_end=*/true));
    if (cut.what != RecordCutter::Cut::What::kRecord) break;
    const size_t size = cut.payload.size() + kFrameOverhead;
    if (size > frames.size()) break;
    WriteFrame(cut.payload, frames.data());
    frames = frames.subspan(size);
    bytes = bytes.subspan(cut.size);
  }
  if (bytes.empty() && frames.empty()) return absl::OkStatus();
  return absl::DataLossError("the records have other sizes than when they were indexed");
}

}  // namespace

absl::StatusOr<StoredRecords> StoredAs(const ByteSource& source,
                                       const std::optional<StoredRecords>& stored) {
  if (stored.has_value()) return *stored;
  PENSTOCK_ASSIGN_OR_RETURN(const Container container, DetectContainer(source));
  return StoredRecords{.container = container};
}

std::unique_ptr<RecordCutter> NewCutter(const StoredRecords& stored, SampleKeys* keys) {
  switch (stored.container) {
    case Container::kFixed:
      return std::make_unique<FixedRecordCutter>(stored.record_bytes);
    case Container::kImageFile:
      return std::make_unique<ImageFileCutter>(stored.path, stored.label);
    default:
      return NewWebDatasetCutter(keys);
  }
}

absl::Status MakeFrames(const StoredRecords& stored, std::span<const uint8_t> bytes,
                        std::span<uint8_t> frames) {
  if (HoldsFrames(stored.container)) {
    return Decompressor(CompressionOf(stored.container)).DecompressExactly(bytes, frames);
  }
  const std::unique_ptr<RecordCutter> cutter = NewCutter(stored);
  return CutIntoFrames(*cutter, bytes, frames);
}

}  // namespace penstock
