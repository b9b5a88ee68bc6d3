// Decodes thousands of damaged images. Each must quickly give pixels or a status, and the same from
// a new decoder as from one that has seen all the others.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "records/image/image_decoder.h"
#include "records/image/image_transform.h"
#include "records/image/testing/expectations.h"
#include "records/image/testing/region.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kFilesOfEachFormat = 5000;
constexpr int kRegions = 3;  // For each file.
// Damaged headers request any size. Images above these limits are refused; smaller ones take time.
constexpr ImageLimits kLimits{.max_pixels = 1 << 18, .max_side = 1 << 14, .max_scans = 16};

std::vector<Bytes> FilesOf(const std::string& prefix) {
  std::vector<Bytes> files;
  for (const auto& [name, bytes] : Expectations::Get().files()) {
    if (name.compare(0, prefix.size(), prefix) == 0) files.push_back(bytes);
  }
  return files;
}

void FlipBits(CounterRng& rng, Bytes& bytes) {
  for (uint64_t count = 1 + rng.Below(8); count > 0; --count) {
    bytes[rng.Below(bytes.size())] ^= static_cast<uint8_t>(1 << rng.Below(8));
  }
}

void Overwrite(CounterRng& rng, Bytes& bytes) {
  for (uint64_t i = rng.Below(bytes.size()), end = i + 1 + rng.Below(16); i < end; ++i) {
    if (i < bytes.size()) bytes[i] = static_cast<uint8_t>(rng.Next());
  }
}

// Headers are in the first bytes. This sets sizes, counts and lengths there to extreme values.
void MakeNumbersAbsurd(CounterRng& rng, Bytes& bytes) {
  const size_t at = rng.Below(std::min<size_t>(bytes.size(), 300));
  const uint8_t value = rng.Below(2) == 0 ? 0xff : 0x00;
  for (size_t i = at; i < std::min(at + 1 + rng.Below(4), bytes.size()); ++i) bytes[i] = value;
}

void RemovePart(CounterRng& rng, Bytes& bytes) {
  const size_t begin = rng.Below(bytes.size());
  const size_t end = std::min(bytes.size(), begin + 1 + rng.Below(40));
  bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(begin),
              bytes.begin() + static_cast<ptrdiff_t>(end));
}

void RepeatPart(CounterRng& rng, Bytes& bytes) {
  const size_t begin = rng.Below(bytes.size());
  const Bytes part(bytes.begin() + static_cast<ptrdiff_t>(begin),
                   bytes.begin() + static_cast<ptrdiff_t>(std::min(bytes.size(), begin + 200)));
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(rng.Below(bytes.size())), part.begin(),
               part.end());
}

// Joins the head of one file and the tail of another.
void MakePolyglot(CounterRng& rng, const Bytes& other, Bytes& bytes) {
  bytes.resize(rng.Below(bytes.size()) + 1);
  const size_t begin = rng.Below(other.size());
  bytes.insert(bytes.end(), other.begin() + static_cast<ptrdiff_t>(begin), other.end());
}

Bytes Damage(CounterRng& rng, Bytes bytes, const Bytes& other) {
  switch (rng.Below(7)) {
    case 0:
      bytes.resize(rng.Below(bytes.size()));
      break;
    case 1:
      FlipBits(rng, bytes);
      break;
    case 2:
      Overwrite(rng, bytes);
      break;
    case 3:
      MakeNumbersAbsurd(rng, bytes);
      break;
    case 4:
      RemovePart(rng, bytes);
      break;
    case 5:
      RepeatPart(rng, bytes);
      break;
    default:
      MakePolyglot(rng, other, bytes);
  }
  return bytes;
}

class DamagedImagesTest : public ::testing::Test {
 protected:
  // Expects OK, or an error code that is a fact about the bytes.
  void ExpectAnswer(const absl::Status& status) {
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kDataLoss ||
                status.code() == absl::StatusCode::kInvalidArgument)
        << status;
    ++answers_[static_cast<int>(status.code())];
  }

  void ExpectSameAnswer(const Bytes& bytes, const ImageDecodeOptions& options) {
    ImageDecoder fresh;
    const absl::StatusOr<DecodedImage> a = fresh.Decode(bytes, options);
    const absl::StatusOr<DecodedImage> b = used_.Decode(bytes, options);
    ExpectAnswer(b.status());
    ASSERT_EQ(a.status(), b.status());
    if (!a.ok()) return;
    ASSERT_EQ(a->pixels.bytes(), b->pixels.bytes());
    ASSERT_TRUE(std::equal(a->pixels.data, a->pixels.data + a->pixels.bytes(), b->pixels.data));
    ASSERT_EQ(a->notes.warnings, b->notes.warnings);
  }

  // Expects that the region does not affect whether an image can be decoded.
  void ExpectSameRegion(const Bytes& bytes, ImageDecodeOptions options, CounterRng& rng) {
    const absl::StatusOr<ImageInfo> info = ProbeImage(bytes);
    if (!info.ok() || !CheckImageLimits(*info, options.limits).ok()) return;
    if (info->format == ImageFormat::kJpeg) options.shrink = uint32_t{1} << rng.Below(3);
    const Size picture = ShrunkSize(PictureSize(*info, options.orient), options.shrink);
    ImageDecoder fresh;
    const absl::StatusOr<DecodedImage> whole = fresh.Decode(bytes, *info, options);
    for (int i = 0; i < kRegions; ++i) {
      const CropRect region = RandomRegion(rng, picture);
      const absl::StatusOr<DecodedImage> part = used_.DecodeRegion(bytes, *info, options, region);
      ASSERT_EQ(whole.status(), part.status());
      if (!whole.ok()) continue;
      ASSERT_EQ(whole->notes.truncated, part->notes.truncated);
      ASSERT_LE(part->notes.warnings, whole->notes.warnings);
      ASSERT_TRUE(Holds(*part, region));
      ASSERT_TRUE(EqualIn(region, *whole, *part));
    }
  }

  void ExpectAnswers(const std::string& prefix) {
    const std::vector<Bytes> files = FilesOf(prefix), others = FilesOf("");
    CounterRng rng(5);
    for (int i = 0; i < kFilesOfEachFormat; ++i) {
      SCOPED_TRACE(absl::StrCat("damaged file ", i));
      Bytes bytes = Damage(rng, files[rng.Below(files.size())], others[rng.Below(others.size())]);
      if (rng.Below(4) == 0 && !bytes.empty()) FlipBits(rng, bytes);
      ImageDecodeOptions options{.limits = kLimits};
      options.channels = rng.Below(2) == 0 ? 1 : 3;
      options.orient = rng.Below(2) == 0;
      options.fill_truncated = rng.Below(2) == 0;
      ASSERT_NO_FATAL_FAILURE(ExpectSameAnswer(bytes, options));
      ASSERT_NO_FATAL_FAILURE(ExpectSameRegion(bytes, options, rng));
    }
    EXPECT_GT(answers_[static_cast<int>(absl::StatusCode::kOk)], 100);
    EXPECT_GT(answers_[static_cast<int>(absl::StatusCode::kDataLoss)], 1000);
  }

  ImageDecoder used_;
  std::map<int, int> answers_;
};

TEST_F(DamagedImagesTest, JpegIsAnsweredAlikeByAllDecoders) { ExpectAnswers("jpeg"); }

TEST_F(DamagedImagesTest, PngIsAnsweredAlikeByAllDecoders) { ExpectAnswers("png"); }

TEST_F(DamagedImagesTest, AnyCutIsAnswered) {
  for (const char* name :
       {"jpeg_420", "jpeg_444_progressive", "jpeg_cmyk_adobe", "png_2_8", "png_3_4_interlaced"}) {
    const std::span<const uint8_t> file = Expectations::Get().file(name);
    for (size_t size = 0; size < file.size(); ++size) {
      const Bytes cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_FALSE(used_.Decode(cut, {}).ok()) << name << " cut to " << size;
      ExpectAnswer(used_.Decode(cut, {.fill_truncated = true}).status());
    }
  }
}

TEST_F(DamagedImagesTest, TransformsAnswerToo) {
  ImageTransform transform;
  ImageOps ops;
  ops.limits = kLimits;
  ops.fill_truncated = true;
  ops.crop = RandomResizedCropOp{{19, 23}, {}};
  std::vector<uint8_t> out(ops.output_bytes());
  const std::vector<Bytes> files = FilesOf("");
  CounterRng rng(6);
  for (uint64_t i = 0; i < 1000; ++i) {
    const Bytes bytes = Damage(rng, files[rng.Below(files.size())], files[rng.Below(files.size())]);
    ExpectAnswer(transform.Apply(bytes, ops, Uniforms(i), out).status());
  }
}

}  // namespace
}  // namespace penstock
