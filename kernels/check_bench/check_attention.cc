#include "kernels/check_bench/attention_error.h"
#include "kernels/check_bench/check.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_geometry.h"

namespace penstock::check_bench {
namespace {

using reference::AttentionShape;

// These dropout indices need more than 32 bits.
constexpr uint64_t kKey = 12345, kFirstSample = (uint64_t{1} << 40) + 1000;

// Scales the queries by `times`; keys and values are unscaled.
template <typename T>
std::vector<T> NoiseOf(const AttentionShape& s, float times) {
  std::vector<T> values = Noise<T>(s.samples * s.tokens * 3 * s.width(), 1, 2.0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i / s.width() % 3 == 0) values[i] = FromFloat<T>(times * ToFloat(values[i]));
  }
  return values;
}

std::vector<float> BiasNoise(const AttentionShape& s) {
  return Noise<float>(s.heads * s.tokens * s.tokens, 3);
}

template <typename T>
struct Case {
  Case(const AttentionShape& s, const std::vector<float>& with_bias, double dropout,
       float queries = 1.0f)
      : shape(s),
        qkv(NoiseOf<T>(s, queries)),
        dout(Noise<T>(s.samples * s.tokens * s.width(), 2)),
        out(dout.size()),
        dqkv(qkv.size()),
        bias(with_bias),
        dbias(Noise<float>(bias.size(), 4, 0.1)),  // The kernel adds its gradient to these values.
        workspace(with_bias.empty() ? 0 : cuda::AttentionBiasWorkspace(s)),
        draw(std::vector<DropoutDraw>{{kKey, kFirstSample}}),
        host_bias(ToDoubles(bias.initial())),
        options{with_bias.empty() ? nullptr : bias.data(), Dropout::OfRate(dropout), draw.data()},
        host_options{with_bias.empty() ? nullptr : host_bias.data(), options.dropout, kKey,
                     kFirstSample} {}

  cudaError_t Forward() { return cuda::Attention(qkv.data(), shape, out.data(), options, nullptr); }
  cudaError_t Backward() {
    return cuda::AttentionBackward(qkv.data(), dout.data(), shape, dqkv.data(), options,
                                   bias.size() > 0 ? dbias.data() : nullptr, workspace.data(),
                                   nullptr);
  }
  size_t ForwardShared() const { return cuda::ForwardShared<T>(tokens(), head_dim()); }
  size_t BackwardShared() const {
    return cuda::BackwardShared<T>(tokens(), head_dim()) +
           (bias.size() > 0 ? cuda::kBiasShared : 0);
  }
  unsigned tokens() const { return static_cast<unsigned>(shape.tokens); }
  unsigned head_dim() const { return static_cast<unsigned>(shape.head_dim); }

  AttentionShape shape;
  DeviceArray<T> qkv, dout, out, dqkv;
  DeviceArray<float> bias, dbias, workspace;
  DeviceArray<DropoutDraw> draw;
  std::vector<double> host_bias;
  cuda::AttentionOptions options;
  reference::AttentionOptions<double> host_options;
};

// The results of the reference in double.
struct Expected {
  std::vector<double> out, dqkv, dbias;
};

template <typename T>
void CheckCase(Checker& checker, Case<T>& c) {
  checker.Shape({{"samples", c.shape.samples},
                 {"tokens", c.shape.tokens},
                 {"heads", c.shape.heads},
                 {"head_dim", c.shape.head_dim}});
  const auto qkv = ToDoubles(c.qkv.initial()), dout = ToDoubles(c.dout.initial());
  Expected e{std::vector<double>(dout.size()), std::vector<double>(qkv.size()),
             ToDoubles(c.dbias.initial())};
  const AttentionErrors errors = ErrorsOfAttention<T>(qkv, dout, c.shape, c.host_options, e.dbias);
  reference::Attention(qkv.data(), c.shape, e.out.data(), c.host_options);
  reference::AttentionBackward(qkv.data(), dout.data(), c.shape, e.dqkv.data(), c.host_options,
                               e.dbias.empty() ? nullptr : e.dbias.data());
  if (checker.Fits("forward", c.ForwardShared())) {
    checker.RunTwice([&] { return c.Forward(); }, c.out);
    checker.Within("out", c.out.Read(), e.out, errors.out);
  }
  if (!checker.Fits("backward", c.BackwardShared())) return;
  checker.RunTwice([&] { return c.Backward(); }, c.dqkv, c.dbias);
  checker.Within("dqkv", c.dqkv.Read(), e.dqkv, errors.dqkv);
  checker.Within("dbias", c.dbias.Read(), e.dbias, errors.dbias);
}

template <typename T>
void CheckShape(Checker& checker, const AttentionShape& shape, bool with_bias = false,
                double dropout = 0) {
  Case<T> c(shape, with_bias ? BiasNoise(shape) : std::vector<float>(), dropout);
  CheckCase(checker, c);
}

template <typename T>
void CheckDim(Checker& checker, size_t dim) {
  const std::string of = std::string(NameOf<T>()) + "/" + std::to_string(dim) + "/";
  auto begin = [&](const char* what) { return checker.Begin("attention/" + of + what); };
  if (begin("1_token")) CheckShape<T>(checker, {3, 1, 1, dim});
  if (begin("17_tokens")) CheckShape<T>(checker, {1, 17, 3, dim});
  if (begin("dropout")) CheckShape<T>(checker, {2, 33, 1, dim}, false, 0.25);
  if (begin("63_tokens")) CheckShape<T>(checker, {1, 63, 1, dim});
  if (begin("64_tokens")) CheckShape<T>(checker, {1, 64, 3, dim});
  if (begin("64_tokens_dropout")) CheckShape<T>(checker, {2, 64, 1, dim}, false, 0.25);
  if (begin("65_tokens")) CheckShape<T>(checker, {1, 65, 1, dim});
  // The kernel sums the bias gradient in two parts, of five samples and of four.
  if (begin("bias")) CheckShape<T>(checker, {9, 64, dim == 16 ? 2u : 1u, dim}, true);
}

template <typename T>
void CheckLarge(Checker& checker, size_t dim) {
  const std::string of = std::string("attention/") + NameOf<T>() + "/" + std::to_string(dim) + "/";
  if (checker.Begin(of + "144_tokens_dropout")) {
    CheckShape<T>(checker, {1, 144, 1, dim}, false, 0.1);  // Has more tiles than warps.
  }
  if (checker.Begin(of + "256_tokens")) CheckShape<T>(checker, {1, 256, 1, dim});
  if (checker.Begin(of + "bias_dropout")) CheckShape<T>(checker, {2, 64, 2, dim}, true, 0.1);
}

// Scores in the thousands: nothing overflows, and the softmax picks a single key, or two if they
// are close.
template <typename T>
void CheckLargeScores(Checker& checker, const AttentionShape& shape) {
  const std::string dim = std::to_string(shape.head_dim);
  if (!checker.Begin(std::string("attention/large_scores/") + NameOf<T>() + "/" + dim)) return;
  Case<T> c(shape, {}, 0, 1000.0f);
  CheckCase(checker, c);
}

// All scores are near -300. Their exponentials would all vanish relative to a maximum that no key
// has.
template <typename T>
void CheckLowScores(Checker& checker) {
  const AttentionShape shape{1, 64, 1, 16};
  if (!checker.Begin(std::string("attention/low_scores/") + NameOf<T>())) return;
  std::vector<float> bias = BiasNoise(shape);
  for (float& b : bias) b -= 300.0f;
  Case<T> c(shape, bias, 0);
  CheckCase(checker, c);
}

// No query sees the first half of the keys. In float that half is one block of keys.
template <typename T>
void CheckExcludedKeys(Checker& checker) {
  const AttentionShape shape{1, 64, 1, 16};
  if (!checker.Begin(std::string("attention/excluded_keys/") + NameOf<T>())) return;
  std::vector<float> bias = BiasNoise(shape);
  for (size_t i = 0; i < bias.size(); ++i) {
    if (i % 64 < 32) bias[i] = -INFINITY;
  }
  Case<T> c(shape, bias, 0);
  CheckCase(checker, c);
}

template <typename Change>
void Refuses(Checker& checker, const char* what, Change change) {
  const AttentionShape shape{1, 64, 1, 16};
  Case<float> c(shape, BiasNoise(shape), 0);
  change(c);
  checker.True(what, c.Forward() == cudaErrorInvalidValue && c.Backward() == cudaErrorInvalidValue);
}

// Tries each array in turn at 4 bytes past a multiple of 16.
void CheckUnaligned(Checker& checker) {
  Case<float> c({1, 16, 1, 16}, {}, 0);
  auto forward = [&](size_t qkv, size_t out) {
    return cuda::Attention(c.qkv.data() + qkv, c.shape, c.out.data() + out, c.options, nullptr);
  };
  auto backward = [&](size_t qkv, size_t dout, size_t dqkv) {
    return cuda::AttentionBackward<float>(c.qkv.data() + qkv, c.dout.data() + dout, c.shape,
                                          c.dqkv.data() + dqkv, c.options, nullptr, nullptr,
                                          nullptr);
  };
  for (cudaError_t error :
       {forward(1, 0), forward(0, 1), backward(1, 0, 0), backward(0, 1, 0), backward(0, 0, 1)}) {
    checker.True("an array that is not aligned", error == cudaErrorInvalidValue);
  }
}

void CheckRefusals(Checker& checker) {
  using C = Case<float>;
  Refuses(checker, "no tokens", [](C& c) { c.shape.tokens = 0; });
  Refuses(checker, "257 tokens", [](C& c) { c.shape.tokens = 257; });
  Refuses(checker, "a head of 48", [](C& c) { c.shape.head_dim = 48; });
  Refuses(checker, "a bias of 63 tokens", [](C& c) { c.shape.tokens = 63; });
  Refuses(checker, "more blocks than a grid has", [](C& c) {
    c.shape.samples = size_t{1} << 30;
    c.shape.heads = 2;
  });
  Refuses(checker, "more samples than 64 bits count", [](C& c) {
    c.shape.samples = size_t{1} << 62;
    c.shape.heads = 4;
  });
  CheckUnaligned(checker);
  Refuses(checker, "dropout without a DropoutDraw", [](C& c) {
    c.options.dropout = Dropout::OfRate(0.5);
    c.options.draw = nullptr;
  });
}

}  // namespace

void CheckAttention(Checker& checker) {
  for (size_t dim : {16, 32, 64}) {
    CheckDim<Bf16>(checker, dim);
    CheckDim<float>(checker, dim);
  }
  CheckLarge<Bf16>(checker, 64);
  for (size_t dim : {16, 64}) CheckLarge<float>(checker, dim);
  for (size_t dim : {16, 32, 64}) CheckLargeScores<Bf16>(checker, {1, 65, 1, dim});
  CheckLargeScores<float>(checker, {1, 20, 1, 16});
  CheckLowScores<Bf16>(checker);
  CheckLowScores<float>(checker);
  CheckExcludedKeys<Bf16>(checker);
  CheckExcludedKeys<float>(checker);
  if (checker.Begin("attention/refuses")) CheckRefusals(checker);
}

}  // namespace penstock::check_bench
