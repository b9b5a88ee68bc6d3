// Random board records as an input, for tests.
#ifndef PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_INPUT_H_
#define PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_INPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/backend/testing/boards.h"
#include "trainer/input/testing/memory_batches.h"

namespace penstock {

// Packed records of random boards.
class MemoryInput : public MemoryBatches {
 public:
  MemoryInput(size_t records, size_t batch_size, uint64_t seed = 1, const std::string& cursor = "",
              size_t rank = 0, size_t world_size = 1)
      : MemoryBatches(records, batch_size, cursor, rank, world_size),
        boards_(records, seed),
        scores_(records) {
    // Learnable: the score depends on the first flag, bit 1536 of the record.
    for (size_t i = 0; i < records; ++i) {
      uint8_t& byte = boards_.records[i * 194 + 192 + 1];
      byte = 0;  // Clears the mate bit.
      scores_[i] = (boards_.records[i * 194 + 192] & 0x80) != 0 ? 300 : -300;
    }
  }

 private:
  std::vector<TensorView> TensorsOf(size_t first, size_t rows) const override {
    return {TensorOf("d", Dtype::kU8, 194, boards_.records.data(), first, rows),
            TensorOf("s", Dtype::kI64, sizeof(int64_t), scores_.data(), first, rows)};
  }

  RandomBoards boards_;
  std::vector<int64_t> scores_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_INPUT_TESTING_MEMORY_INPUT_H_
