// Rows of records in the form that a backend takes.
#ifndef PENSTOCK_TRAINER_BACKEND_BATCH_ROWS_H_
#define PENSTOCK_TRAINER_BACKEND_BATCH_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "trainer/step/input_format.h"

namespace penstock {

// Borrows all arrays; row-major.
struct BatchRows {
  InputFormat format = kPackedBoards;
  size_t rows = 0;
  const uint8_t* input = nullptr;  // (rows, format.input_bytes)
  const uint8_t* flags = nullptr;  // (rows, format.flags_bytes); null if rows have no flags.
  // (rows): the value to predict, which is a board's score or an image's class number.
  const float* targets = nullptr;

  BatchRows Slice(size_t first, size_t count) const {
    return {format, count, input + first * format.input_bytes,
            flags == nullptr ? nullptr : flags + first * format.flags_bytes,
            targets == nullptr ? nullptr : targets + first};
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_BATCH_ROWS_H_
