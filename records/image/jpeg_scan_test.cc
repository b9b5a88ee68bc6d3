#include "records/image/jpeg_scan.h"

#include <vector>

#include "gmock/gmock.h"

namespace penstock {
namespace {

bool Holds(const std::vector<uint8_t>& bytes) { return HoldsOneWholeScan(bytes); }

TEST(JpegScanTest, EndsAtTheEndMarker) {
  EXPECT_TRUE(Holds({1, 2, 3, 0xff, 0xd9}));
  EXPECT_TRUE(Holds({0xff, 0xd9}));
  EXPECT_TRUE(Holds({1, 0xff, 0xd9, 7, 0xff, 0xd8, 0xff, 0xe0}));
}

TEST(JpegScanTest, MayHoldStuffingRestartsAndFill) {
  EXPECT_TRUE(Holds({1, 0xff, 0x00, 2, 0xff, 0xd0, 3, 0xff, 0xd7, 0xff, 0xff, 0xd9}));
  EXPECT_TRUE(Holds({0xff, 0xff, 0x00, 0xff, 0xff, 0xff, 0xd3, 0xff, 0xd9}));
}

TEST(JpegScanTest, IsNotWholeIfCut) {
  EXPECT_FALSE(Holds({}));
  EXPECT_FALSE(Holds({1, 2, 3}));
  EXPECT_FALSE(Holds({1, 2, 0xff}));
  EXPECT_FALSE(Holds({1, 0xff, 0x00}));
  EXPECT_FALSE(Holds({1, 0xff, 0xd1, 0xff, 0xff}));
}

TEST(JpegScanTest, IsNotAloneIfAnotherMarkerComesBeforeTheEnd) {
  for (const uint8_t marker : {0x01, 0xbf, 0xc4, 0xcf, 0xd8, 0xda, 0xdc, 0xe1, 0xfe}) {
    EXPECT_FALSE(Holds({1, 0xff, marker, 0xff, 0xd9})) << int{marker};
  }
}

}  // namespace
}  // namespace penstock
