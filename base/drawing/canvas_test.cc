#include "base/drawing/canvas.h"

#include "base/drawing/font.h"
#include "base/drawing/glyph_mask.h"
#include "base/drawing/text.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

constexpr Color kWhite = {255, 255, 255};
constexpr Color kRed = {200, 0, 0};

Color At(const Canvas& canvas, size_t x, size_t y) {
  const uint8_t* pixel = canvas.picture().at(x, y);
  return {pixel[0], pixel[1], pixel[2]};
}

// The number of pixels that are not white.
int Inked(const Canvas& canvas) {
  int count = 0;
  for (size_t y = 0; y < canvas.picture().height; ++y) {
    for (size_t x = 0; x < canvas.picture().width; ++x) {
      count += At(canvas, x, y) == kWhite ? 0 : 1;
    }
  }
  return count;
}

TEST(CanvasTest, FillsAndFrames) {
  Canvas canvas(10, 8, kWhite);
  canvas.Fill({1, 2, 3, 2}, kRed);
  EXPECT_EQ(Inked(canvas), 6);
  EXPECT_EQ(At(canvas, 1, 2), kRed);
  EXPECT_EQ(At(canvas, 3, 3), kRed);
  EXPECT_EQ(At(canvas, 4, 3), kWhite);
  Canvas frame(10, 8, kWhite);
  frame.Frame({0, 0, 4, 3}, kRed);
  EXPECT_EQ(Inked(frame), 10);
  EXPECT_EQ(At(frame, 1, 1), kWhite);
}

TEST(CanvasTest, DrawsNothingBeyondItsEdges) {
  Canvas canvas(4, 4, kWhite);
  canvas.Fill({-3, -3, 5, 5}, kRed);
  EXPECT_EQ(Inked(canvas), 4);
  canvas.Fill({9, 9, 5, 5}, kRed);
  canvas.Fill({-9, 0, 5, 5}, kRed);
  canvas.Fill({2, 2, -1, 1}, kRed);
  EXPECT_EQ(Inked(canvas), 4);
  canvas.Text("text that is too long", -5, -5, 3, kRed);
  canvas.Draw({1, 1, 1, {7}}, 3, 3, 9);
  EXPECT_EQ(At(canvas, 3, 3), (Color{7, 7, 7}));
}

TEST(CanvasTest, DrawsPicturesOfOneAndOfThreeChannels) {
  Canvas canvas(6, 2, kWhite);
  canvas.Draw({2, 1, 1, {10, 20}}, 0, 0, 2);
  canvas.Draw({1, 1, 3, {1, 2, 3}}, 5, 1);
  EXPECT_EQ(At(canvas, 1, 1), (Color{10, 10, 10}));
  EXPECT_EQ(At(canvas, 2, 0), (Color{20, 20, 20}));
  EXPECT_EQ(At(canvas, 5, 1), (Color{1, 2, 3}));
  EXPECT_EQ(Inked(canvas), 9);
}

TEST(CanvasTest, TextStaysWithinItsWidth) {
  for (const int scale : {1, 2, 3}) {
    const int width = TextWidth("Mixed", scale);
    Canvas canvas(width + 10, 60, kWhite);
    canvas.Text("Mixed", 4, 6, scale, kRed);
    for (size_t y = 0; y < 60; ++y) {
      for (size_t x = 0; x < canvas.picture().width; ++x) {
        const bool within = x >= 4 && x < static_cast<size_t>(4 + width) && y >= 6 &&
                            y < static_cast<size_t>(6 + kCapitalRows * scale);
        EXPECT_TRUE(within || At(canvas, x, y) == kWhite) << x << " " << y;
      }
    }
    EXPECT_GT(Inked(canvas), 40 * scale * scale);
  }
}

TEST(CanvasTest, TextUpIsTextTurned) {
  Canvas lying(80, 20, kWhite), standing(20, 80, kWhite);
  lying.Text("Turn", 3, 4, 2, kRed);
  standing.TextUp("Turn", 4, 77, 2, kRed);
  for (size_t y = 0; y < 20; ++y) {
    for (size_t x = 0; x < 80; ++x) ASSERT_EQ(At(lying, x, y), At(standing, y, 79 - x));
  }
  EXPECT_GT(Inked(lying), 100);
}

TEST(GlyphMaskTest, KeepsTheInkOfStraightStrokesAndSmoothsTurns) {
  const GlyphMask bar = MaskOf(GlyphOf('|'), 3);
  EXPECT_EQ(bar.width, 3);
  EXPECT_EQ(bar.height, 3 * kGlyphRows);
  EXPECT_EQ(bar.at(1, 5), 255);
  EXPECT_EQ(bar.at(1, 3 * kGlyphRows - 1), 0);
  const GlyphMask slash = MaskOf(GlyphOf('/'), 2);
  int partly = 0;
  for (const uint8_t cover : slash.cover) partly += cover > 0 && cover < 255 ? 1 : 0;
  EXPECT_GT(partly, 4);
}

TEST(MixTest, IsBetweenTheColors) {
  EXPECT_EQ(Mix(kWhite, kRed, 0), kWhite);
  EXPECT_EQ(Mix(kWhite, kRed, 1), kRed);
  EXPECT_EQ(Mix({0, 100, 200}, {100, 0, 255}, 0.5), (Color{50, 50, 228}));
}

}  // namespace
}  // namespace penstock
