// Rows of records as a backend takes them.
#ifndef PENSTOCK_TRAINER_BACKEND_BATCH_ROWS_H_
#define PENSTOCK_TRAINER_BACKEND_BATCH_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "trainer/step/input_format.h"

namespace penstock {

// Borrows everything; row-major.
struct BatchRows {
  InputFormat format = kPackedBoards;
  size_t rows = 0;
  const uint8_t* input = nullptr;  // (rows, format.input_bytes)
  const uint8_t* flags = nullptr;  // (rows, format.flags_bytes); null where a row has none.
  // (rows): what to predict; a board's score, or the number of an image's class.
  const float* targets = nullptr;

  BatchRows Slice(size_t first, size_t count) const {
    return {format, count, input + first * format.input_bytes,
            flags == nullptr ? nullptr : flags + first * format.flags_bytes,
            targets == nullptr ? nullptr : targets + first};
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_BATCH_ROWS_H_
