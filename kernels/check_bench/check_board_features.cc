#include "kernels/check_bench/check.h"
#include "kernels/cuda/board_features.h"

namespace penstock::check_bench {
namespace {

using reference::kBoardFeatures;
using reference::kBoardFlags;
using reference::kBoardPlanes;
using reference::kBoardSquares;

std::vector<uint8_t> RandomBytes(size_t count, uint64_t salt) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(RandomBits(salt, i));
  return bytes;
}

// Returns `features` (rows, 34), padded with zeros to `stride` columns.
std::vector<double> Padded(const std::vector<double>& features, size_t stride) {
  std::vector<double> padded(features.size() / kBoardFeatures * stride);
  for (size_t i = 0; i < features.size(); ++i) {
    padded[i / kBoardFeatures * stride + i % kBoardFeatures] = features[i];
  }
  return padded;
}

template <typename T>
void CheckPacked(Checker& checker, size_t samples, size_t stride) {
  checker.Shape({{"samples", samples}, {"stride", stride}});
  DeviceArray<uint8_t> packed(RandomBytes(samples * reference::kPackedBoardBytes, samples));
  DeviceArray<T> out(Noise<T>(samples * kBoardSquares * stride, 1));
  checker.RunTwice(
      [&] { return cuda::ExpandPackedBoards(packed.data(), samples, stride, out.data(), nullptr); },
      out);
  std::vector<double> expected(samples * kBoardSquares * kBoardFeatures);
  reference::ExpandPackedBoards(packed.initial().data(), samples, expected.data());
  checker.Close("features", out.Read(), Padded(expected, stride), 0);
}

template <typename S, typename T>
void CheckDecoded(Checker& checker, size_t samples, size_t stride) {
  checker.Shape({{"samples", samples}, {"stride", stride}});
  const auto noise = RandomBytes(samples * kBoardSquares * kBoardPlanes, 3);
  std::vector<S> planes(noise.size()), flags(samples * kBoardFlags);
  for (size_t i = 0; i < planes.size(); ++i) planes[i] = S(int(noise[i] % 3) - 1);
  for (size_t i = 0; i < flags.size(); ++i) flags[i] = S(noise[i] % 2);
  DeviceArray<S> device_planes(planes), device_flags(flags);
  DeviceArray<T> out(samples * kBoardSquares * stride);
  checker.RunTwice(
      [&] {
        return cuda::JoinBoardPlanes(device_planes.data(), device_flags.data(), samples, stride,
                                     out.data(), nullptr);
      },
      out);
  std::vector<double> expected(samples * kBoardSquares * kBoardFeatures);
  reference::JoinBoardPlanes(planes.data(), flags.data(), samples, expected.data());
  checker.Close("features", out.Read(), Padded(expected, stride), 0);
}

template <typename T>
void CheckAll(Checker& checker, size_t samples, size_t stride) {
  const std::string of = std::string(NameOf<T>()) + "/" + std::to_string(samples);
  if (checker.Begin("boards_packed/" + of)) CheckPacked<T>(checker, samples, stride);
  if (checker.Begin("boards_i8/" + of)) CheckDecoded<int8_t, T>(checker, samples, stride);
  if (checker.Begin("boards_f32/" + of)) CheckDecoded<float, T>(checker, samples, stride);
}

}  // namespace

void CheckBoardFeatures(Checker& checker) {
  for (size_t samples : {1, 5}) {
    CheckAll<float>(checker, samples, 36);
    CheckAll<Bf16>(checker, samples, 40);
  }
}

}  // namespace penstock::check_bench
