#include "kernels/check_bench/check.h"
#include "kernels/cuda/images.h"

namespace penstock::check_bench {
namespace {

constexpr float kMean[] = {0.485f, 0.456f, 0.406f}, kDeviation[] = {0.229f, 0.224f, 0.225f};

template <typename T>
void CheckShape(Checker& checker, const reference::ImageShape& shape, size_t stride) {
  checker.Shape({{"samples", shape.samples},
                 {"height", shape.height},
                 {"width", shape.width},
                 {"patch", shape.patch},
                 {"stride", stride}});
  const auto pixels = reference::PixelScale::Of(kMean, kDeviation);
  std::vector<uint8_t> bytes(shape.samples * shape.height * shape.width * 3);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(RandomBits(5, i));
  DeviceArray<uint8_t> images(bytes);
  DeviceArray<T> out(Noise<T>(shape.samples * shape.patches() * stride, 1));
  checker.RunTwice(
      [&] {
        return cuda::NormalizeImages(images.data(), shape, pixels, stride, out.data(), nullptr);
      },
      out);
  const size_t values = shape.patch_values();
  std::vector<double> packed(shape.samples * shape.patches() * values), expected(out.size());
  reference::NormalizeImages(bytes.data(), shape, pixels, packed.data());
  for (size_t i = 0; i < packed.size(); ++i) expected[i / values * stride + i % values] = packed[i];
  // A product, up to 1.7 times as large as the patches typically are, and a sum.
  checker.Close("patches", out.Read(), expected, 3 * kRounding<float>);
}

template <typename T>
void CheckAll(Checker& checker) {
  const std::string of = NameOf<T>();
  if (checker.Begin("images/patches/" + of)) CheckShape<T>(checker, {12, 12, 18, 6}, 112);
  if (checker.Begin("images/pixels/" + of)) CheckShape<T>(checker, {1, 5, 7, 1}, 8);
}

}  // namespace

void CheckImages(Checker& checker) {
  CheckAll<float>(checker);
  CheckAll<Bf16>(checker);
}

}  // namespace penstock::check_bench
