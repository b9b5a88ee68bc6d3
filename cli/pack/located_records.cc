#include "cli/pack/located_records.h"

#include <array>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace penstock {

// Keeps some files open, because a shuffled order returns to them again and again.
class LocatedRecords::Maker : public RecordMaker {
 public:
  explicit Maker(const LocatedRecords& records) : records_(records) {}

  absl::Status Make(uint64_t index, Made& made) override {
    const Place& place = records_.places_[index];
    const std::string& path = records_.files_[place.file].path;
    PENSTOCK_ASSIGN_OR_RETURN(const FileSource* source, Open(place.file));
    frame_.resize(place.frame_bytes);
    PENSTOCK_RETURN_IF_ERROR(source->ReadAt(place.offset, frame_));
    const absl::StatusOr<Frame> frame = ParseFrame(frame_, 0, Verify::kPayload, place.offset);
    if (!frame.ok()) return Annotate(frame.status(), path);
    if (frame->size() != place.frame_bytes) return Changed(path);
    made.payload = frame->payload;
    return absl::OkStatus();
  }

 private:
  static absl::Status Changed(const std::string& path) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": changed while it was packed; run the command again"));
  }

  absl::StatusOr<const FileSource*> Open(uint32_t number) {
    const File& file = records_.files_[number];
    if (file.source != nullptr) return file.source.get();
    Opened& opened = opened_[number % opened_.size()];
    if (opened.source == nullptr || opened.number != number) {
      PENSTOCK_ASSIGN_OR_RETURN(opened.source, FileSource::Open(file.path));
      opened.number = number;
      if (opened.source->identity() != file.identity) return Changed(file.path);
    }
    return opened.source.get();
  }

  struct Opened {
    uint32_t number = 0;
    std::unique_ptr<FileSource> source;
  };

  const LocatedRecords& records_;
  std::array<Opened, 16> opened_;
  std::vector<uint8_t> frame_;
};

uint32_t LocatedRecords::AddFile(const std::string& path, const FileIdentity& identity) {
  files_.push_back({path, identity, nullptr});
  return static_cast<uint32_t>(files_.size() - 1);
}

void LocatedRecords::SetOpenFile(uint32_t file, std::unique_ptr<FileSource> source) {
  files_[file] = {std::string(source->name()), source->identity(), std::move(source)};
}

absl::Status LocatedRecords::Add(uint32_t file, uint64_t offset, uint64_t payload_bytes) {
  if (places_.size() == kMaxRecords) {
    return absl::ResourceExhaustedError(
        absl::StrCat("more than ", kMaxRecords,
                     " records: pack the files in several runs, each with "
                     "a --name of its own"));
  }
  const uint64_t frame_bytes = payload_bytes + kFrameOverhead;
  places_.push_back({offset, static_cast<uint32_t>(frame_bytes), file});
  bytes_ += frame_bytes;
  return absl::OkStatus();
}

void LocatedRecords::Truncate(uint64_t size) {
  for (; places_.size() > size; places_.pop_back()) bytes_ -= places_.back().frame_bytes;
}

std::string LocatedRecords::Name(uint64_t index) const {
  const Place& place = places_[index];
  return absl::StrCat(files_[place.file].path, ": record at offset ", place.offset);
}

std::unique_ptr<RecordMaker> LocatedRecords::NewMaker() const {
  return std::make_unique<Maker>(*this);
}

}  // namespace penstock
