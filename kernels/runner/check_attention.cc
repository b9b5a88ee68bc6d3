#include "kernels/cuda/attention.h"
#include "kernels/runner/check.h"
#include "kernels/runner/plain_bf16.h"

namespace penstock::runner {
namespace {

using reference::AttentionShape;

#if defined(PENSTOCK_SIMT_EMULATION)
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif

constexpr uint64_t kKey = 12345, kFirstSample = 1000;

// Queries are `times` as large as keys and values.
template <typename T>
std::vector<T> NoiseOf(const AttentionShape& s, float times) {
  std::vector<T> values = Noise<T>(s.samples * s.tokens * 3 * s.width(), 1, 2.0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i / s.width() % 3 == 0) values[i] = FromFloat<T>(times * ToFloat(values[i]));
  }
  return values;
}

template <typename T>
struct Case {
  Case(const AttentionShape& s, bool with_bias, double dropout, float queries = 1.0f)
      : shape(s),
        qkv(NoiseOf<T>(s, queries)),
        dout(Noise<T>(s.samples * s.tokens * s.width(), 2)),
        out(dout.size()),
        dqkv(qkv.size()),
        bias(Noise<float>(with_bias ? s.heads * s.tokens * s.tokens : 0, 3)),
        dbias(bias.size()),
        workspace(with_bias ? cuda::AttentionBiasWorkspace(s) : 0),
        key(std::vector<uint64_t>{kKey}),
        host_bias(ToDoubles(bias.initial())),
        options{with_bias ? bias.data() : nullptr, Dropout::OfRate(dropout), key.data(),
                kFirstSample},
        host_options{with_bias ? host_bias.data() : nullptr, options.dropout, kKey, kFirstSample} {}

  cudaError_t Forward() { return cuda::Attention(qkv.data(), shape, out.data(), options, nullptr); }
  cudaError_t Backward() {
    return cuda::AttentionBackward(qkv.data(), dout.data(), shape, dqkv.data(), options,
                                   bias.size() > 0 ? dbias.data() : nullptr, workspace.data(),
                                   nullptr);
  }

  AttentionShape shape;
  DeviceArray<T> qkv, dout, out, dqkv;
  DeviceArray<float> bias, dbias, workspace;
  DeviceArray<uint64_t> key;
  std::vector<double> host_bias;
  cuda::AttentionOptions options;
  reference::AttentionOptions<double> host_options;
};

// The reference in double, and how far from it a result may be.
struct Expected {
  std::vector<double> out, dqkv, dbias;
  double out_bound, dqkv_bound, dbias_bound;
};

template <typename T>
Expected ExpectedOf(const Case<T>& c) {
  const auto qkv = ToDoubles(c.qkv.initial()), dout = ToDoubles(c.dout.initial());
  // Exponents of sums of 64 products of up to 4: their rounding is some hundred times a float's.
  constexpr double kFloat = 256 * kRounding<float>;
  Expected e{std::vector<double>(dout.size()),
             std::vector<double>(qkv.size()),
             std::vector<double>(c.host_bias.size()),
             kFloat,
             kFloat,
             kFloat};
  reference::Attention(qkv.data(), c.shape, e.out.data(), c.host_options);
  reference::AttentionBackward(qkv.data(), dout.data(), c.shape, e.dqkv.data(), c.host_options,
                               e.dbias.empty() ? nullptr : e.dbias.data());
  if constexpr (std::is_same_v<T, Bf16>) {
    auto plain = AttendPlainly(c.qkv.initial(), c.dout.initial(), c.shape, c.host_options);
    plain.dbias.resize(e.dbias.size());
    // At least two roundings, where by chance a small case has no error.
    const auto bound = [](double error) { return 2 * std::max(error, kRounding<Bf16>); };
    e.out_bound = bound(LargestError(plain.out, e.out));
    e.dqkv_bound = bound(LargestError(plain.dqkv, e.dqkv));
    e.dbias_bound = bound(LargestError(plain.dbias, e.dbias));
  }
  return e;
}

template <typename T>
void CheckCase(Checker& checker, Case<T>& c, const Expected& e) {
  checker.RunTwice([&] { return c.Forward(); }, c.out);
  checker.Close("out", c.out.Read(), e.out, e.out_bound);
  checker.RunTwice([&] { return c.Backward(); }, c.dqkv, c.dbias);
  checker.Close("dqkv", c.dqkv.Read(), e.dqkv, e.dqkv_bound);
  checker.Close("dbias", c.dbias.Read(), e.dbias, e.dbias_bound);
}

template <typename T>
void CheckShape(Checker& checker, const AttentionShape& shape, bool with_bias = false,
                double dropout = 0) {
  Case<T> c(shape, with_bias, dropout);
  CheckCase(checker, c, ExpectedOf(c));
}

template <typename T>
void CheckDim(Checker& checker, size_t dim) {
  const std::string of = std::string(NameOf<T>()) + "/" + std::to_string(dim) + "/";
  auto begin = [&](const char* what) { return checker.Begin("attention/" + of + what); };
  if (begin("1_token")) CheckShape<T>(checker, {3, 1, 1, dim});
  if (begin("17_tokens")) CheckShape<T>(checker, {1, 17, 3, dim});
  if (begin("dropout")) CheckShape<T>(checker, {2, 33, 1, dim}, false, 0.25);
  // Emulated, a multiplication of float tiles is 64 shuffles.
  if (kEmulated && sizeof(T) == 4 && dim > 16) return;
  if (begin("63_tokens")) CheckShape<T>(checker, {1, 63, 1, dim});
  if (begin("64_tokens")) CheckShape<T>(checker, {1, 64, 3, dim});
  if (begin("65_tokens")) CheckShape<T>(checker, {1, 65, 1, dim});
  // In bf16 two parts, of five samples and of four.
  if (begin("bias")) CheckShape<T>(checker, {sizeof(T) == 2 ? 9u : 3u, 64, 1, dim}, true);
}

template <typename T>
void CheckLarge(Checker& checker, size_t dim) {
  const std::string of = std::string("attention/") + NameOf<T>() + "/" + std::to_string(dim) + "/";
  if (checker.Begin(of + "144_tokens_dropout")) {
    CheckShape<T>(checker, {1, 144, 1, dim}, false, 0.1);  // More tiles than warps.
  }
  if (kEmulated && sizeof(T) == 4) return;
  if (checker.Begin(of + "256_tokens")) CheckShape<T>(checker, {1, 256, 1, dim});
  if (checker.Begin(of + "bias_dropout")) CheckShape<T>(checker, {2, 64, 2, dim}, true, 0.1);
}

// Scores of thousands: nothing overflows, and the softmax is one key's, of two where they are
// close. Plain bf16 is no measure here, for it rounds scores by several units.
template <typename T>
void CheckLargeScores(Checker& checker, const AttentionShape& shape) {
  const std::string dim = std::to_string(shape.head_dim);
  if (!checker.Begin(std::string("attention/large_scores/") + NameOf<T>() + "/" + dim)) return;
  Case<T> c(shape, false, 0, 1000.0f);
  Expected e = ExpectedOf(c);
  e.out_bound = e.dqkv_bound = std::is_same_v<T, Bf16> ? 4 * kRounding<Bf16> : 0.001;
  CheckCase(checker, c, e);
}

template <typename Change>
void Refuses(Checker& checker, const char* what, Change change) {
  Case<float> c({1, 64, 1, 16}, true, 0);
  change(c);
  checker.True(what, c.Forward() == cudaErrorInvalidValue && c.Backward() == cudaErrorInvalidValue);
}

void CheckRefusals(Checker& checker) {
  using C = Case<float>;
  Refuses(checker, "no tokens", [](C& c) { c.shape.tokens = 0; });
  Refuses(checker, "257 tokens", [](C& c) { c.shape.tokens = 257; });
  Refuses(checker, "a head of 48", [](C& c) { c.shape.head_dim = 48; });
  Refuses(checker, "a bias of 63 tokens", [](C& c) { c.shape.tokens = 63; });
  Refuses(checker, "dropout without a key", [](C& c) {
    c.options.dropout = Dropout::OfRate(0.5);
    c.options.key = nullptr;
  });
}

}  // namespace

void CheckAttention(Checker& checker) {
  for (size_t dim : {16, 32, 64}) {
    CheckDim<Bf16>(checker, dim);
    CheckDim<float>(checker, dim);
  }
  CheckLarge<Bf16>(checker, 64);
  CheckLarge<float>(checker, kEmulated ? 16 : 64);
  for (size_t dim : {16, 32, 64}) CheckLargeScores<Bf16>(checker, {1, 65, 1, dim});
  CheckLargeScores<float>(checker, {1, 20, 1, 16});
  if (checker.Begin("attention/refuses")) CheckRefusals(checker);
}

}  // namespace penstock::runner
