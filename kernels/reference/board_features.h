// Turns chess records into the model's input: 24 planes and 10 flags for each of 64 squares.
#ifndef PENSTOCK_KERNELS_REFERENCE_BOARD_FEATURES_H_
#define PENSTOCK_KERNELS_REFERENCE_BOARD_FEATURES_H_

#include <cstddef>
#include <cstdint>

namespace penstock::reference {

inline constexpr size_t kBoardSquares = 64;
inline constexpr size_t kBoardPlanes = 24;
inline constexpr size_t kBoardFlags = 10;
inline constexpr size_t kBoardFeatures = kBoardPlanes + kBoardFlags;
inline constexpr size_t kPackedBoardBytes = 194;
inline constexpr size_t kMateBit = kBoardSquares * kBoardPlanes + kBoardFlags;

// Bit `index` of a record. The most significant bit of each byte comes first.
inline bool PackedBit(const uint8_t* record, size_t index) {
  return (record[index / 8] >> (7 - index % 8)) & 1;
}

// packed (samples, 194 bytes): bits [64 squares][6 types t][4 k], then 10 flags.
// features (samples, 64, 34): plane 6k + t of a square is its bit 4t + k, negative for k = 1 and 3;
// the flags are copied to every square.
template <typename T>
void ExpandPackedBoards(const uint8_t* packed, size_t samples, T* features) {
  for (size_t b = 0; b < samples; ++b) {
    const uint8_t* record = packed + b * kPackedBoardBytes;
    for (size_t square = 0; square < kBoardSquares; ++square) {
      T* out = features + (b * kBoardSquares + square) * kBoardFeatures;
      for (size_t k = 0; k < 4; ++k) {
        for (size_t t = 0; t < 6; ++t) {
          const bool bit = PackedBit(record, kBoardPlanes * square + 4 * t + k);
          out[6 * k + t] = bit ? (k % 2 == 0 ? T(1) : T(-1)) : T(0);
        }
      }
      for (size_t f = 0; f < kBoardFlags; ++f) {
        out[kBoardPlanes + f] = PackedBit(record, kBoardSquares * kBoardPlanes + f) ? T(1) : T(0);
      }
    }
  }
}

// Does the same from decoded tensors: planes (samples, 64, 24), flags (samples, 10). S is int8_t or
// float.
template <typename S, typename T>
void JoinBoardPlanes(const S* planes, const S* flags, size_t samples, T* features) {
  for (size_t b = 0; b < samples; ++b) {
    for (size_t square = 0; square < kBoardSquares; ++square) {
      const size_t token = b * kBoardSquares + square;
      T* out = features + token * kBoardFeatures;
      for (size_t p = 0; p < kBoardPlanes; ++p) out[p] = T(planes[token * kBoardPlanes + p]);
      for (size_t f = 0; f < kBoardFlags; ++f)
        out[kBoardPlanes + f] = T(flags[b * kBoardFlags + f]);
    }
  }
}

}  // namespace penstock::reference

#endif  // PENSTOCK_KERNELS_REFERENCE_BOARD_FEATURES_H_
