#include "kernels/check_bench/bench.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "kernels/check_bench/check.h"
#include "kernels/check_bench/device_array.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/adamw.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_geometry.h"
#include "kernels/cuda/board_features.h"
#include "kernels/cuda/column_sum.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/images.h"
#include "kernels/cuda/layer_norm.h"
#include "kernels/cuda/loss.h"
#include "kernels/cuda/pool.h"
#include "kernels/numeric/bf16.h"

namespace penstock::check_bench {
namespace {

constexpr int kWarmUps = 5, kRuns = 30;

// Thread-compatible.
class Event {
 public:
  Event() { Require(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void Record() { Require(cudaEventRecord(event_), "recording an event"); }
  double MicrosecondsSince(const Event& start) {
    float milliseconds = 0;
    Require(cudaEventSynchronize(event_), "waiting for an event");
    Require(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading an event");
    return milliseconds * 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

Measurement Time(std::string name, double bytes, const std::function<cudaError_t()>& launch) {
  std::vector<double> us;
  for (int run = -kWarmUps; run < kRuns; ++run) {
    Event start, end;
    start.Record();
    Require(launch(), name.c_str());
    end.Record();
    const double elapsed = end.MicrosecondsSince(start);
    if (run >= 0) us.push_back(elapsed);
  }
  std::sort(us.begin(), us.end());
  return {std::move(name), kRuns, us[kRuns / 2], us.front(), us.back(), bytes};
}

// Random values repeated to `count`: a GPU's clock depends on the values that it multiplies.
template <typename T>
std::vector<T> Filled(size_t count) {
  constexpr size_t kPeriod = (1 << 20) - 3;
  const std::vector<T> noise = Noise<T>(std::min(count, kPeriod), 1, 2.0);
  std::vector<T> values(count);
  for (size_t i = 0; i < count; i += kPeriod) {
    std::copy_n(noise.begin(), std::min(kPeriod, count - i), values.begin() + ptrdiff_t(i));
  }
  return values;
}

class Benchmarks {
 public:
  explicit Benchmarks(BlockLimit& limit) : limit_(limit) {}

  std::vector<Measurement> Run() {
    Copy();
    // The models' shapes: tiny, default and large at 64 tokens; ViT's at 144 and 196 tokens; and
    // heads of 64 at 64 tokens.
    Attention<Bf16>({16384, 64, 4, 16});
    Attention<Bf16>({8192, 64, 8, 32});
    Attention<Bf16>({4096, 64, 16, 32});
    Attention<Bf16>({4096, 64, 8, 64});
    Attention<Bf16>({2048, 144, 4, 64});
    Attention<Bf16>({1024, 196, 6, 64});
    Attention<float>({2048, 64, 8, 32});
    for (size_t dim : {64, 256, 512}) LayerNorms(dim);
    Activations();
    Boards();
    Pools();
    Update();
    Others();
    return std::move(results_);
  }

 private:
  void Add(std::string name, double bytes, const std::function<cudaError_t()>& launch) {
    results_.push_back(Time(std::move(name), bytes, launch));
  }
  void AddIfFits(std::string name, size_t shared, double bytes,
                 const std::function<cudaError_t()>& launch) {
    if (limit_.Fits(name, shared)) Add(std::move(name), bytes, launch);
  }

  void Copy() {
    constexpr size_t kBytes = size_t{1} << 30;
    DeviceArray<char> from(kBytes), to(kBytes);
    Add("copy", 2.0 * kBytes, [&] {
      return cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, nullptr);
    });
  }
  // Counts the fewest bytes that a head must move. The forward reads q, k and v, and writes the
  // output. The backward reads q, k, v and the output's gradient, and writes three gradients.
  template <typename T>
  void Attention(const reference::AttentionShape& s) {
    const std::string of = std::string(NameOf<T>()) + "/" + std::to_string(s.samples) + "x" +
                           std::to_string(s.tokens) + "x" + std::to_string(s.heads) + "x" +
                           std::to_string(s.head_dim);
    const size_t size = s.samples * s.tokens * s.width();
    const double bytes = static_cast<double>(size * sizeof(T));
    DeviceArray<T> qkv(Filled<T>(3 * size)), dqkv(3 * size), out(Filled<T>(size));
    const auto tokens = static_cast<unsigned>(s.tokens), dim = static_cast<unsigned>(s.head_dim);
    AddIfFits("attention/" + of, cuda::ForwardShared<T>(tokens, dim), 4 * bytes,
              [&] { return cuda::Attention(qkv.data(), s, out.data(), {}, nullptr); });
    AddIfFits("attention_backward/" + of, cuda::BackwardShared<T>(tokens, dim), 7 * bytes, [&] {
      return cuda::AttentionBackward(qkv.data(), out.data(), s, dqkv.data(), {}, nullptr, nullptr,
                                     nullptr);
    });
  }
  void LayerNorms(size_t dim) {
    const size_t rows = (size_t{1} << 28) / dim;
    const double bytes = 2.0 * static_cast<double>(rows * dim);
    DeviceArray<Bf16> x(Filled<Bf16>(rows * dim)), y(rows * dim), sum(rows * dim);
    DeviceArray<float> gamma(Filled<float>(dim)), beta(dim), mean(rows), rstd(rows), dgamma(dim),
        dbeta(dim), workspace(cuda::LayerNormWorkspace(rows, dim));
    const std::string of = "bf16/" + std::to_string(dim);
    Add("layer_norm/" + of, 2 * bytes, [&] {
      return cuda::LayerNorm(x.data(), gamma.data(), beta.data(), 1e-5f, rows, dim, y.data(),
                             mean.data(), rstd.data(), nullptr);
    });
    Add("layer_norm_residual/" + of, 4 * bytes, [&] {
      return cuda::AddLayerNorm(x.data(), y.data(), gamma.data(), beta.data(), 1e-5f, rows, dim,
                                sum.data(), y.data(), mean.data(), rstd.data(), nullptr);
    });
    Add("layer_norm_backward/" + of, 4 * bytes, [&] {
      return cuda::LayerNormBackward(y.data(), x.data(), gamma.data(), mean.data(), rstd.data(),
                                     rows, dim, sum.data(), sum.data(), dgamma.data(), dbeta.data(),
                                     workspace.data(), nullptr);
    });
  }
  void Activations() {
    constexpr size_t kCount = size_t{1} << 28;
    DeviceArray<Bf16> x(kCount), y(kCount);
    Add("gelu_tanh/bf16", 4.0 * kCount, [&] {
      return cuda::Gelu(x.data(), reference::GeluForm::kTanh, kCount, y.data(), nullptr);
    });
    Add("gelu_tanh_backward/bf16", 6.0 * kCount, [&] {
      return cuda::GeluBackward(y.data(), x.data(), reference::GeluForm::kTanh, kCount, y.data(),
                                nullptr);
    });
    Add("gelu_erf/bf16", 4.0 * kCount,
        [&] { return cuda::Gelu(x.data(), reference::GeluForm::kErf, kCount, y.data(), nullptr); });
    DeviceArray<DropoutDraw> draw(std::vector<DropoutDraw>{{.key = 1}});
    Add("dropout/bf16", 4.0 * kCount, [&] {
      return cuda::DropOut(x.data(), Dropout::OfRate(0.1), draw.data(), 1, kCount, y.data(),
                           nullptr);
    });
  }
  void Boards() {
    constexpr size_t kSamples = size_t{1} << 17, kStride = 40;
    DeviceArray<uint8_t> packed(kSamples * reference::kPackedBoardBytes);
    DeviceArray<Bf16> features(kSamples * 64 * kStride);
    Add("boards_packed/bf16", kSamples * (reference::kPackedBoardBytes + 64.0 * kStride * 2), [&] {
      return cuda::ExpandPackedBoards(packed.data(), kSamples, kStride, features.data(), nullptr);
    });
  }

  void Pools() {
    constexpr size_t kSamples = 8192, kTokens = 64, kDim = 512, kSize = kTokens * kDim;
    DeviceArray<Bf16> x(kSamples * kSize), y(kSamples * kDim);
    DeviceArray<float> position(kSize), sums(kSize),
        workspace(cuda::ColumnSumWorkspace(kSamples, kSize));
    const double bytes = 2.0 * kSamples * kSize;
    Add("pool_mean/bf16", bytes,
        [&] { return cuda::MeanPool(x.data(), kSamples, kTokens, kDim, y.data(), nullptr); });
    Add("pool_position/bf16", 2 * bytes,
        [&] { return cuda::AddPosition(position.data(), kSamples, kSize, x.data(), nullptr); });
    Add("pool_position_backward/bf16", bytes, [&] {
      return cuda::AddColumnSums(x.data(), kSamples, kSize, sums.data(), workspace.data(), nullptr);
    });
  }
  // Updates as many parameters as the large model has, so that the timing is that of a real update.
  void Update() {
    constexpr size_t kCount = 38143489;
    DeviceArray<float> gradient(Filled<float>(kCount)), parameter(kCount), m(kCount), v(kCount);
    DeviceArray<Bf16> copy(kCount);
    DeviceArray<uint8_t> decays(kCount / cuda::kDecayRun + 1);
    DeviceArray<double> norm(1), workspace(cuda::GradientNormWorkspace(kCount));
    DeviceArray<cuda::UpdateScalars> scalars(std::vector<cuda::UpdateScalars>{
        {reference::AdamwScalars<float>::ForStep(1, 1e-3, 0.01, 1.0), 1.0f}});
    Add("update_norm", 4.0 * kCount, [&] {
      return cuda::GradientNorm(gradient.data(), kCount, norm.data(), workspace.data(), nullptr);
    });
    Add("update_adamw", 30.0 * kCount, [&] {
      return cuda::Adamw(scalars.data(), norm.data(), decays.data(), gradient.data(), kCount,
                         parameter.data(), m.data(), v.data(), copy.data(), nullptr);
    });
  }
  void Others() {
    const reference::ImageShape shape{.samples = 4096, .height = 224, .width = 224, .patch = 16};
    const size_t bytes = shape.samples * shape.height * shape.width * 3;
    DeviceArray<uint8_t> images(bytes);
    DeviceArray<Bf16> patches(bytes);
    Add("images/bf16", 3.0 * static_cast<double>(bytes), [&] {
      return cuda::NormalizeImages(images.data(), shape, reference::PixelScale{},
                                   shape.patch_values(), patches.data(), nullptr);
    });
    constexpr size_t kSamples = size_t{1} << 18, kClasses = 1000;
    DeviceArray<Bf16> logits(Filled<Bf16>(kSamples * kClasses)), gradient(kSamples * kClasses);
    DeviceArray<float> targets(kSamples), weight(std::vector<float>(kSamples, 1.0f)),
        results(2 * kSamples);
    Add("loss_classes/bf16", 2.0 * kSamples * kClasses, [&] {
      return cuda::Classify(logits.data(), targets.data(), kSamples, kClasses, kClasses,
                            results.data(), nullptr);
    });
    Add("loss_cross_entropy_backward/bf16", 4.0 * kSamples * kClasses, [&] {
      return cuda::SoftmaxCrossEntropyBackward(logits.data(), targets.data(), weight.data(),
                                               kSamples, kClasses, kClasses, gradient.data(),
                                               nullptr);
    });
  }

  BlockLimit& limit_;
  std::vector<Measurement> results_;
};

}  // namespace

std::vector<Measurement> RunBenchmarks(BlockLimit& limit) { return Benchmarks(limit).Run(); }

}  // namespace penstock::check_bench
