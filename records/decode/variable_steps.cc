#include "records/decode/variable_steps.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/load.h"
#include "records/decode/numbers.h"
#include "records/format/variable_entry.h"
#include "records/format/wire.h"

namespace penstock {
namespace {

// Integers that are decoded at a time while they are converted to another type.
constexpr size_t kBlock = 128;

void Store64(uint8_t* out, size_t i, uint64_t value) {
  std::memcpy(out + i * sizeof(value), &value, sizeof(value));
}

// Repeats the first `done` bytes of [out, out + size) up to the end.
void Repeat(uint8_t* out, size_t done, size_t size) {
  for (size_t n; done < size; done += n) {
    n = std::min(done, size - done);
    std::memcpy(out + done, out, n);
  }
}

// Fills the bytes of a row from `first` on. `fill` has one element for all, or one for each.
void FillRest(std::span<const uint8_t> fill, size_t first, std::span<uint8_t> row) {
  if (first == row.size()) return;
  if (fill.size() == row.size()) {
    std::memcpy(row.data() + first, fill.data() + first, row.size() - first);
  } else {
    std::memcpy(row.data() + first, fill.data(), fill.size());
    Repeat(row.data() + first, fill.size(), row.size() - first);
  }
}

// Reads varints one after the other.
class VarintReader {
 public:
  explicit VarintReader(std::span<const uint8_t> bytes)
      : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  uint64_t Next() {
    uint64_t value = 0;
    if (p_ < end_ && *p_ < 0x80) return *p_++;
    p_ = ReadVarint(p_, end_, value);
    return value;
  }

  // Skips the next `size` bytes and returns them.
  const uint8_t* Skip(size_t size) {
    const uint8_t* bytes = p_;
    p_ += size;
    return bytes;
  }

 private:
  const uint8_t* p_;
  const uint8_t* end_;
};

// Writes the first `n` integers as the dtype. Returns false if one of them cannot be held exactly.
bool WriteIntegers(const VariableValue& value, size_t n, Dtype dtype, SimdLevel level,
                   uint8_t* out) {
  VarintReader varints(value.bytes);
  if (dtype == Dtype::kI64) {
    for (size_t i = 0; i < n; ++i) Store64(out, i, varints.Next());
    return true;
  }
  std::array<uint64_t, kBlock> block;
  const auto* values = reinterpret_cast<const uint8_t*>(block.data());
  for (size_t first = 0; first < n; first += kBlock) {
    const size_t size = std::min(kBlock, n - first);
    for (size_t i = 0; i < size; ++i) block[i] = varints.Next();
    if (!ConvertIntegers(dtype, level, &values, 1, size, out + first * DtypeSize(dtype))) {
      return false;
    }
  }
  return true;
}

int64_t FirstInexact(const VariableValue& value, Dtype dtype) {
  VarintReader varints(value.bytes);
  int64_t integer;
  do {
    integer = static_cast<int64_t>(varints.Next());
  } while (HoldsExactly(dtype, integer));
  return integer;
}

}  // namespace

absl::Status NotExact(int64_t value, Dtype dtype) {
  return absl::InvalidArgumentError(absl::StrCat(absl::AsciiStrToUpper(DtypeName(dtype)),
                                                 " cannot hold ", value,
                                                 " exactly: leave out `as` to get an i64 tensor"));
}

StepFailure FillRows(const VariableNumbersStep& step, const TensorInfo& tensor, SimdLevel level,
                     StepRows rows, uint8_t* out) {
  for (size_t row = 0; row < rows.size(); ++row, out += tensor.row_bytes) {
    const VariableValue value = LoadVariable(rows[row]);
    const size_t n = std::min<size_t>(value.count, step.capacity);
    if (step.type == FeatureType::kFloat) {
      const uint8_t* floats = value.bytes.data();
      ConvertFloats(tensor.dtype, level, &floats, 1, n, out);
    } else if (!WriteIntegers(value, n, tensor.dtype, level, out)) {
      return DecodeFailure{row, NotExact(FirstInexact(value, tensor.dtype), tensor.dtype)};
    }
    FillRest(step.fill, n * DtypeSize(tensor.dtype), {out, tensor.row_bytes});
  }
  return std::nullopt;
}

StepFailure FillRows(const VariableBytesStep& step, const TensorInfo& tensor, SimdLevel,
                     StepRows rows, uint8_t* out) {
  for (const uint8_t* row : rows) {
    const std::span<const uint8_t> bytes = LoadVariable(row).bytes;
    const size_t n = std::min(bytes.size(), step.capacity);
    if (n > 0) std::memcpy(out, bytes.data(), n);
    FillRest(step.fill, n, {out, tensor.row_bytes});
    out += tensor.row_bytes;
  }
  return std::nullopt;
}

StepFailure FillRows(const BytesListStep& step, const TensorInfo& tensor, SimdLevel, StepRows rows,
                     uint8_t* out) {
  for (const uint8_t* row : rows) {
    const VariableValue value = LoadVariable(row);
    const size_t n = std::min<size_t>(value.count, step.count);
    VarintReader reader(value.bytes);
    for (size_t i = 0; i < n; ++i) {
      const uint64_t size = reader.Next();
      uint8_t* to = out + i * step.length;
      const size_t kept = std::min<size_t>(size, step.length);
      std::memcpy(to, reader.Skip(size), kept);
      std::memset(to + kept, step.fill, step.length - kept);
    }
    std::memset(out + n * step.length, step.fill, (step.count - n) * step.length);
    out += tensor.row_bytes;
  }
  return std::nullopt;
}

StepFailure FillRows(const ListLengthsStep& step, const TensorInfo& tensor, SimdLevel,
                     StepRows rows, uint8_t* out) {
  for (const uint8_t* row : rows) {
    const VariableValue value = LoadVariable(row);
    const size_t n = std::min<size_t>(value.count, step.count);
    VarintReader reader(value.bytes);
    for (size_t i = 0; i < n; ++i) {
      const uint64_t size = reader.Next();
      reader.Skip(size);
      Store64(out, i, std::min<uint64_t>(size, step.length));
    }
    for (size_t i = n; i < step.count; ++i) Store64(out, i, 0);
    out += tensor.row_bytes;
  }
  return std::nullopt;
}

StepFailure FillRows(const LengthStep& step, const TensorInfo&, SimdLevel, StepRows rows,
                     uint8_t* out) {
  for (size_t row = 0; row < rows.size(); ++row) {
    const VariableValue value = LoadVariable(rows[row]);
    const size_t length = step.of_bytes ? value.bytes.size() : value.count;
    Store64(out, row, std::min(length / step.item, step.capacity));
  }
  return std::nullopt;
}

StepFailure FillRows(const PresenceStep&, const TensorInfo&, SimdLevel, StepRows rows,
                     uint8_t* out) {
  for (size_t row = 0; row < rows.size(); ++row) out[row] = LoadVariable(rows[row]).present;
  return std::nullopt;
}

StepFailure FillRows(const LabelStep& step, const TensorInfo&, SimdLevel, StepRows rows,
                     uint8_t* out) {
  for (size_t row = 0; row < rows.size(); ++row) {
    int64_t sum = step.absent;
    const VariableValue value = step.optional ? LoadVariable(rows[row]) : VariableValue{true};
    if (value.present) {
      const auto label = static_cast<int64_t>(step.optional ? VarintReader(value.bytes).Next()
                                                            : Load64(rows[row]));
      if (__builtin_add_overflow(label, step.add, &sum)) {
        return DecodeFailure{row, absl::InvalidArgumentError(absl::StrCat(
                                      "label ", label, " plus ", step.add,
                                      " (`add` in the spec) does not fit into int64"))};
      }
    }
    Store64(out, row, static_cast<uint64_t>(sum));
  }
  return std::nullopt;
}

}  // namespace penstock
