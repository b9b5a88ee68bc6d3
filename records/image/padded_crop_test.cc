#include "records/image/padded_crop.h"

#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/counter_rng.h"
#include "gmock/gmock.h"
#include "records/image/testing/region.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(PaddedCropTest, ReadsNothingOutsideItsPart) {
  CounterRng rng(1);
  for (int i = 0; i < 5000; ++i) {
    PaddedCrop crop;
    crop.picture = {static_cast<uint32_t>(1 + rng.Below(12)),
                    static_cast<uint32_t>(1 + rng.Below(12))};
    crop.rect = {static_cast<int64_t>(rng.Below(60)) - 30, static_cast<int64_t>(rng.Below(60)) - 30,
                 static_cast<uint32_t>(1 + rng.Below(30)),
                 static_cast<uint32_t>(1 + rng.Below(30))};
    crop.padding = rng.Below(2) == 0 ? Padding::kZero : Padding::kReflect;
    crop.flip = rng.Below(2) == 0;
    SCOPED_TRACE(absl::StrCat("case ", i));
    const int channels = rng.Below(2) == 0 ? 1 : 3;
    PixelView whole{nullptr, crop.picture.width, crop.picture.height, channels};
    Bytes pixels(whole.bytes());
    std::iota(pixels.begin(), pixels.end(), uint8_t{1});
    whole.data = pixels.data();

    const CropRect part = PartRead(crop);
    const Bytes cut = PixelsIn(whole, part);
    const size_t out_bytes = size_t{crop.rect.width} * crop.rect.height * pixels.size() /
                             (size_t{whole.width} * whole.height);
    Bytes of_whole(out_bytes), of_part(out_bytes);
    CopyPadded({whole}, crop, of_whole.data());
    CopyPadded({{cut.data(), part.width, part.height, channels},
                static_cast<uint32_t>(part.left),
                static_cast<uint32_t>(part.top)},
               crop, of_part.data());
    ASSERT_EQ(of_whole, of_part);
  }
}

TEST(PaddedCropTest, ReadsOnePixelIfAllIsPadding) {
  const PaddedCrop crop{.picture = {5, 4}, .rect = {-9, 7, 3, 3}};
  EXPECT_EQ(PartRead(crop), (CropRect{0, 0, 1, 1}));
}

TEST(PaddedCropTest, ReadsWhatIsMirrored) {
  const PaddedCrop crop{.picture = {10, 10}, .rect = {-3, 8, 5, 4}, .padding = Padding::kReflect};
  EXPECT_EQ(PartRead(crop), (CropRect{0, 7, 4, 3}));
}

}  // namespace
}  // namespace penstock
