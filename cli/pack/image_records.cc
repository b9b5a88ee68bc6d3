#include "cli/pack/image_records.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/bytes_of.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "cli/pack/key_builder.h"
#include "records/dataset/feature_info.h"
#include "records/format/example_writer.h"
#include "records/format/tfrecord.h"
#include "records/image/image_decoder.h"
#include "records/image/image_info.h"
#include "records/image/library_version.h"

namespace penstock {
namespace {

// The longest record that an index accepts (ScanOptions::max_raw_chunk_bytes).
constexpr uint64_t kMaxRecordBytes = uint64_t{64} << 20;
// The longest file that is read to be stored as a smaller image.
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;
// A record has about this many bytes beside its image.
constexpr uint64_t kOtherBytes = 160;

absl::Status Changed(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": changed while it was packed; run the command again"));
}

class ImageMaker : public RecordMaker {
 public:
  ImageMaker(const ImageFolder& folder, const ShrinkOptions& options, bool decode_all)
      : folder_(folder), shrinker_(options), decode_all_(decode_all) {}

  absl::Status Make(uint64_t index, Made& made) override {
    const ImageFile& file = folder_.files[index];
    made.invalid = CheckFileSize(file);
    if (!made.invalid.ok()) return absl::OkStatus();
    PENSTOCK_RETURN_IF_ERROR(ReadFile(file));
    absl::StatusOr<std::span<const uint8_t>> encoded = Encode();
    // This error says nothing about the file.
    if (absl::IsResourceExhausted(encoded.status())) {
      return Annotate(encoded.status(), PathOf(file));
    }
    made.invalid = encoded.status();
    if (!made.invalid.ok()) return absl::OkStatus();
    made.payload = Build(file, *encoded);
    made.invalid = CheckRecordSize(made.payload.size());
    return absl::OkStatus();
  }

 private:
  std::string PathOf(const ImageFile& file) const {
    return absl::StrCat(folder_.path, "/", file.path);
  }

  static absl::Status CheckFileSize(const ImageFile& file) {
    if (file.size <= kMaxFileBytes) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the file has ", FormatByteSize(file.size),
                                                   "; the maximum is ",
                                                   FormatByteSize(kMaxFileBytes)));
  }

  static absl::Status CheckRecordSize(uint64_t payload) {
    if (payload + kFrameOverhead <= kMaxRecordBytes) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the record would have ", FormatByteSize(payload), "; the maximum is ",
                     FormatByteSize(kMaxRecordBytes), "; shrink large images with --max-side"));
  }

  absl::Status ReadFile(const ImageFile& file) {
    const std::string path = PathOf(file);
    PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<FileSource> source, FileSource::Open(path));
    if (source->identity() != FileIdentity{file.size, file.modified_ns}) return Changed(path);
    bytes_.resize(file.size);
    return source->ReadAt(0, bytes_);
  }

  // Returns the image that is stored for bytes_.
  absl::StatusOr<std::span<const uint8_t>> Encode() {
    PENSTOCK_ASSIGN_OR_RETURN(const ImageInfo info, ProbeImage(bytes_));
    if (shrinker_.IsLarge(info)) return shrinker_.Shrink(bytes_, info);
    if (decode_all_) PENSTOCK_RETURN_IF_ERROR(decoder_.Decode(bytes_, {}).status());
    return std::span<const uint8_t>(bytes_);
  }

  std::span<const uint8_t> Build(const ImageFile& file, std::span<const uint8_t> encoded) {
    const int64_t label = file.label;
    builder_.Clear();
    builder_.AddInt64("image/class/label", std::span(&label, 1));
    builder_.AddBytes("image/class/text", BytesOf(folder_.classes[file.label]));
    builder_.AddBytes(kImageFeature, encoded);
    builder_.AddBytes("image/filename", BytesOf(file.path));
    return builder_.Serialize();
  }

  const ImageFolder& folder_;
  ImageShrinker shrinker_;
  const bool decode_all_;
  ImageDecoder decoder_;
  std::vector<uint8_t> bytes_;
  ExampleBuilder builder_;
};

// JPEG of quality 90 takes about a quarter of a byte per pixel.
uint64_t EstimatedBytes(const ImageFile& file, const ShrinkOptions& options) {
  const uint64_t side = options.max_side;
  const uint64_t image = side == 0 ? file.size : std::min(file.size, side * side / 4 + 4096);
  return image + file.path.size() + kOtherBytes;
}

std::string KeyOf(const ImageFolder& folder, const ShrinkOptions& options, bool decode_all) {
  KeyBuilder key;
  key.Add(absl::StrCat("images 1 ", options.max_side, " ", options.quality,
                       decode_all ? " decoded" : ""));
  // The library determines the bytes of images that are stored smaller, and which can be decoded.
  if (options.max_side > 0 || decode_all) key.Add(ImageLibraryDigest());
  key.Add(uint64_t{folder.classes.size()});
  for (const std::string& name : folder.classes) key.Add(name);
  for (const ImageFile& file : folder.files) {
    key.Add(file.path);
    key.Add(file.size);
    key.Add(static_cast<uint64_t>(file.modified_ns));
  }
  return key.Key();
}

}  // namespace

ImageRecords::ImageRecords(const ImageFolder& folder, const ShrinkOptions& options, bool decode_all)
    : folder_(folder),
      options_(options),
      decode_all_(decode_all),
      key_(KeyOf(folder, options, decode_all)) {
  for (const ImageFile& file : folder.files) estimated_bytes_ += EstimatedBytes(file, options);
}

std::string ImageRecords::Name(uint64_t index) const {
  return absl::StrCat(folder_.path, "/", folder_.files[index].path);
}

std::unique_ptr<RecordMaker> ImageRecords::NewMaker() const {
  return std::make_unique<ImageMaker>(folder_, options_, decode_all_);
}

}  // namespace penstock
