// Rows of board records as a backend takes them.
#ifndef PENSTOCK_TRAINER_BACKEND_BOARD_ROWS_H_
#define PENSTOCK_TRAINER_BACKEND_BOARD_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "trainer/step/program.h"

namespace penstock {

// Borrows everything; row-major.
struct BoardRows {
  BoardFormat format = BoardFormat::kPacked;
  size_t rows = 0;
  const uint8_t* planes = nullptr;  // (rows, 194) packed, else (rows, 64, 24) of int8 or float.
  const uint8_t* flags = nullptr;   // (rows, 10) of int8 or float; null when packed.
  const float* scores = nullptr;    // (rows): what to predict.

  static constexpr size_t BytesOfPlanes(BoardFormat format) {
    return format == BoardFormat::kPacked ? 194 : 64 * 24 * (format == BoardFormat::kI8 ? 1 : 4);
  }
  static constexpr size_t BytesOfFlags(BoardFormat format) {
    return format == BoardFormat::kPacked ? 0 : 10 * (format == BoardFormat::kI8 ? 1 : 4);
  }

  BoardRows Slice(size_t first, size_t count) const {
    return {format, count, planes + first * BytesOfPlanes(format),
            flags == nullptr ? nullptr : flags + first * BytesOfFlags(format),
            scores == nullptr ? nullptr : scores + first};
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_BOARD_ROWS_H_
