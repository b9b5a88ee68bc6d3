#include "records/image/orientation.h"

#include <cstring>

namespace penstock {
namespace {

// Says where pixel (x, y) of the upright picture is stored: x and y are exchanged first, then each
// may be counted from the opposite side.
struct Turn {
  bool exchange;
  bool from_right;
  bool from_bottom;
};

constexpr Turn kTurns[] = {
    {false, false, false},  // 1: as stored.
    {false, true, false},   // 2: mirrored.
    {false, true, true},    // 3: turned by 180 degrees.
    {false, false, true},   // 4: upside down and mirrored.
    {true, false, false},   // 5: transposed.
    {true, false, true},    // 6: stored a quarter turn to the left.
    {true, true, true},     // 7: transposed over the other diagonal.
    {true, true, false},    // 8: stored a quarter turn to the right.
};

CropRect ExchangeAxes(const CropRect& rect) {
  return {.left = rect.top, .top = rect.left, .width = rect.height, .height = rect.width};
}

CropRect CountFromOtherSides(CropRect rect, const Size& picture, const Turn& turn) {
  if (turn.from_right) rect.left = int64_t{picture.width} - rect.left - rect.width;
  if (turn.from_bottom) rect.top = int64_t{picture.height} - rect.top - rect.height;
  return rect;
}

template <size_t kChannels>
void TurnPixels(const PixelView& source, const Turn& turn, const PixelView& target, uint8_t* out) {
  for (uint32_t y = 0; y < target.height; ++y) {
    for (uint32_t x = 0; x < target.width; ++x, out += kChannels) {
      uint32_t column = turn.exchange ? y : x, row = turn.exchange ? x : y;
      if (turn.from_right) column = source.width - 1 - column;
      if (turn.from_bottom) row = source.height - 1 - row;
      std::memcpy(out, source.row(row) + column * kChannels, kChannels);
    }
  }
}

}  // namespace

FarSides FarSidesOf(int orientation) {
  const Turn& turn = kTurns[orientation - 1];
  return {.left = turn.exchange ? turn.from_bottom : turn.from_right,
          .top = turn.exchange ? turn.from_right : turn.from_bottom};
}

CropRect StoredRect(const CropRect& upright, const Size& stored, int orientation) {
  const Turn& turn = kTurns[orientation - 1];
  return CountFromOtherSides(turn.exchange ? ExchangeAxes(upright) : upright, stored, turn);
}

CropRect UprightRect(const CropRect& rect, const Size& stored, int orientation) {
  const Turn& turn = kTurns[orientation - 1];
  const CropRect counted = CountFromOtherSides(rect, stored, turn);
  return turn.exchange ? ExchangeAxes(counted) : counted;
}

PixelView ApplyOrientation(const PixelView& source, int orientation, uint8_t* out) {
  const Turn& turn = kTurns[orientation - 1];
  PixelView target = source;
  target.data = out;
  if (turn.exchange) {
    target.width = source.height;
    target.height = source.width;
  }
  if (source.channels == 1) {
    TurnPixels<1>(source, turn, target, out);
  } else {
    TurnPixels<3>(source, turn, target, out);
  }
  return target;
}

}  // namespace penstock
