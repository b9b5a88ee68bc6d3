#include "trainer/backend/cpu/gemm_bf16.h"

#include <dnnl.h>
#include <immintrin.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bfloat16.h"

// oneDNN runs on the OpenMP of libgomp; clang would look for its own omp.h.
extern "C" void omp_set_num_threads(int);

namespace penstock {
namespace {

// Denormals become zero, as in the AVX-512 instruction, so that the last elements of a row and
// processors without the instruction give the same values.
void RoundScalar(std::span<const float> from, uint16_t* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    const bool denormal = std::abs(from[i]) < std::numeric_limits<float>::min();
    to[i] = ToBf16(denormal ? std::copysign(0.0f, from[i]) : from[i]);
  }
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void RoundAvx512(
    std::span<const float> from, uint16_t* to) {
  size_t i = 0;
  for (; i + 32 <= from.size(); i += 32) {
    const __m512 low = _mm512_loadu_ps(from.data() + i);
    const __m512 high = _mm512_loadu_ps(from.data() + i + 16);
    const auto both = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    _mm512_storeu_si512(to + i, both);
  }
  RoundScalar(from.subspan(i), to + i);
}

// The dnnl_* objects for one shape, for one thread.
class Product {
 public:
  struct Key {
    size_t m, n, k;
    bool a_transposed, b_transposed, accumulate;
    auto operator<=>(const Key&) const = default;
  };

  // ready() is false if oneDNN has no such product.
  explicit Product(const Key& key) {
    ready_ = Describe(key) && CreatePrimitive(key.accumulate) && CreateMemories();
  }
  ~Product() {
    for (dnnl_memory_t memory : memories_) {
      if (memory != nullptr) dnnl_memory_destroy(memory);
    }
    if (stream_ != nullptr) dnnl_stream_destroy(stream_);
    if (primitive_ != nullptr) dnnl_primitive_destroy(primitive_);
    if (engine_ != nullptr) dnnl_engine_destroy(engine_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  bool ready() const { return ready_; }

  void Run(const uint16_t* a, const uint16_t* b, float* c) {
    Check(dnnl_memory_set_data_handle(memories_[0], const_cast<uint16_t*>(a)));
    Check(dnnl_memory_set_data_handle(memories_[1], const_cast<uint16_t*>(b)));
    Check(dnnl_memory_set_data_handle(memories_[2], c));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, memories_[0]},
                                         {DNNL_ARG_WEIGHTS, memories_[1]},
                                         {DNNL_ARG_DST, memories_[2]}};
    Check(dnnl_primitive_execute(primitive_, stream_, 3, arguments));
  }

 private:
  static void Check(dnnl_status_t status) {
    if (status != dnnl_success) std::abort();  // Wrong arguments, or no memory.
  }

  // Describes a (rows, columns) matrix of the product, stored without gaps: row by row, or column
  // by column if transposed.
  static bool Matrix(size_t rows, size_t columns, bool transposed, dnnl_data_type_t type,
                     dnnl_memory_desc_t& out) {
    const auto r = static_cast<dnnl_dim_t>(rows), c = static_cast<dnnl_dim_t>(columns);
    const dnnl_dims_t extents = {r, c};
    const dnnl_dims_t strides = {transposed ? 1 : c, transposed ? r : 1};
    return dnnl_memory_desc_init_by_strides(&out, 2, extents, type, strides) == dnnl_success;
  }
  bool Describe(const Key& key) {
    return Matrix(key.m, key.k, key.a_transposed, dnnl_bf16, descriptions_[0]) &&
           Matrix(key.k, key.n, key.b_transposed, dnnl_bf16, descriptions_[1]) &&
           Matrix(key.m, key.n, false, dnnl_f32, descriptions_[2]);
  }
  bool CreatePrimitive(bool accumulate) {
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_attr_t attributes = nullptr;
    dnnl_post_ops_t sum = nullptr;
    dnnl_primitive_desc_t description = nullptr;
    const bool made = dnnl_engine_create(&engine_, dnnl_cpu, 0) == dnnl_success &&
                      dnnl_matmul_desc_init(&matmul, &descriptions_[0], &descriptions_[1], nullptr,
                                            &descriptions_[2]) == dnnl_success &&
                      dnnl_primitive_attr_create(&attributes) == dnnl_success &&
                      dnnl_post_ops_create(&sum) == dnnl_success &&
                      (!accumulate || dnnl_post_ops_append_sum(sum, 1.0f) == dnnl_success) &&
                      dnnl_primitive_attr_set_post_ops(attributes, sum) == dnnl_success &&
                      dnnl_primitive_desc_create(&description, &matmul, attributes, engine_,
                                                 nullptr) == dnnl_success &&
                      dnnl_primitive_create(&primitive_, description) == dnnl_success;
    if (description != nullptr) dnnl_primitive_desc_destroy(description);
    if (sum != nullptr) dnnl_post_ops_destroy(sum);
    if (attributes != nullptr) dnnl_primitive_attr_destroy(attributes);
    return made;
  }
  bool CreateMemories() {
    if (dnnl_stream_create(&stream_, engine_, dnnl_stream_default_flags) != dnnl_success) {
      return false;
    }
    for (size_t i = 0; i < 3; ++i) {
      if (dnnl_memory_create(&memories_[i], &descriptions_[i], engine_, DNNL_MEMORY_NONE) !=
          dnnl_success) {
        return false;
      }
    }
    return true;
  }

  dnnl_engine_t engine_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  dnnl_memory_desc_t descriptions_[3] = {};
  dnnl_memory_t memories_[3] = {};
  bool ready_ = false;
};

// Data that a thread keeps between calls.
struct Workspace {
  std::map<Product::Key, Product> products;
  std::vector<uint16_t> a, b;
};

// Returns a stored operand in bfloat16, without gaps between its rows.
const uint16_t* Rounded(const GemmOperand& operand, size_t rows, size_t columns,
                        std::vector<uint16_t>& out) {
  if (operand.rounded != nullptr && operand.stride == columns) return operand.rounded;
  if (out.size() < rows * columns) out.resize(rows * columns);
  if (operand.stride == columns) {
    RoundToBf16({operand.data, rows * columns}, {out.data(), rows * columns});
    return out.data();
  }
  for (size_t row = 0; row < rows; ++row) {
    RoundToBf16({operand.data + row * operand.stride, columns},
                {out.data() + row * columns, columns});
  }
  return out.data();
}

}  // namespace

absl::Status CheckBf16Products() {
  const Product product(
      {.m = 64, .n = 64, .k = 64, .a_transposed = false, .b_transposed = true, .accumulate = true});
  if (product.ready()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--precision bf16: oneDNN cannot multiply bfloat16 on this processor (isa 0x",
      absl::Hex(dnnl_get_effective_cpu_isa()), "); it needs AVX-512. Use --precision fp32"));
}

void RoundToBf16(std::span<const float> from, std::span<uint16_t> to) {
  static const bool fast =
      __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  if (fast) return RoundAvx512(from, to.data());
  RoundScalar(from, to.data());
}

void GemmBf16(size_t m, size_t n, size_t k, const GemmOperand& a, const GemmOperand& b,
              bool accumulate, float* c) {
  thread_local Workspace workspace;
  const bool at = a.transpose == Transpose::kYes, bt = b.transpose == Transpose::kYes;
  const Product::Key key{m, n, k, at, bt, accumulate};
  auto product = workspace.products.find(key);
  if (product == workspace.products.end()) {
    // Applies to the calling thread. oneDNN reads it when it makes a product.
    omp_set_num_threads(1);
    product = workspace.products.emplace(key, key).first;
    if (!product->second.ready()) std::abort();  // CheckBf16Products() has succeeded.
  }
  product->second.Run(Rounded(a, at ? k : m, at ? m : k, workspace.a),
                      Rounded(b, bt ? n : k, bt ? k : n, workspace.b), c);
}

}  // namespace penstock
