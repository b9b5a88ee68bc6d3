// Layout of a batch's rows in memory.
#ifndef PENSTOCK_TRAINER_STEP_INPUT_FORMAT_H_
#define PENSTOCK_TRAINER_STEP_INPUT_FORMAT_H_

#include <compare>
#include <cstddef>
#include <cstdint>

namespace penstock {

enum class InputKind : uint8_t {
  kPackedBoard,  // 194 bytes: the feature of a chess record, as stored.
  kI8Board,      // int8 planes (64, 24) and flags (10).
  kF32Board,     // The same as floats.
  kImage,        // (side, side, 3) bytes.
};

struct InputFormat {
  InputKind kind = InputKind::kPackedBoard;
  size_t input_bytes = 0;  // Bytes of a row's input.
  size_t flags_bytes = 0;  // Bytes of a row's flags, which are stored separately.

  friend constexpr auto operator<=>(const InputFormat&, const InputFormat&) = default;
};

inline constexpr InputFormat kPackedBoards{InputKind::kPackedBoard, 194, 0};
inline constexpr InputFormat kI8Boards{InputKind::kI8Board, 64 * 24, 10};
inline constexpr InputFormat kF32Boards{InputKind::kF32Board, 64 * 24 * 4, 10 * 4};

constexpr InputFormat ImagesOf(size_t side) { return {InputKind::kImage, side * side * 3, 0}; }

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_STEP_INPUT_FORMAT_H_
