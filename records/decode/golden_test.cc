// Compares with the original TensorFlow arithmetic, if PENSTOCK_TEST_DATA contains golden/.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "records/decode/program.h"
#include "records/decode/spec.h"
#include "records/decode/testing/read_file.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

constexpr size_t kRecords = 256;

// Reads just enough of the protobuf wire format for the golden records. It is separate, so that
// this test does not depend on the parser of records/format.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_[0]);
      bytes_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  absl::string_view Bytes() {
    const size_t size = Varint();
    const absl::string_view bytes = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return bytes;
  }

 private:
  absl::string_view bytes_;
};

struct GoldenRecord {
  std::string d;
  int64_t s = 0;
};

// A Feature: bytes_list = 1 or int64_list = 3, each with a repeated value = 1.
void ReadFeature(absl::string_view name, absl::string_view feature, GoldenRecord& record) {
  WireReader fields(feature);
  fields.Varint();  // The tag.
  WireReader list(fields.Bytes());
  const uint64_t tag = list.Varint();
  if (name == "d") record.d = std::string(list.Bytes());
  if (name != "s") return;
  record.s = static_cast<int64_t>(tag == 8 ? list.Varint() : WireReader(list.Bytes()).Varint());
}

GoldenRecord ReadExample(absl::string_view example) {
  GoldenRecord record;
  WireReader outer(example);
  outer.Varint();
  WireReader features(outer.Bytes());
  while (!features.empty()) {
    features.Varint();
    WireReader entry(features.Bytes());
    entry.Varint();
    const absl::string_view name = entry.Bytes();
    entry.Varint();
    ReadFeature(name, entry.Bytes(), record);
  }
  return record;
}

// Framing: length 8, CRC 4, payload, CRC 4.
std::vector<GoldenRecord> ReadRecords(const std::string& shard) {
  std::vector<GoldenRecord> records;
  for (size_t at = 0; at + 16 <= shard.size();) {
    uint64_t size;
    std::memcpy(&size, &shard[at], 8);
    records.push_back(ReadExample(absl::string_view(shard).substr(at + 12, size)));
    at += 16 + size;
  }
  return records;
}

// The values of a .npy file, which follow its header.
template <typename T>
std::vector<T> ReadNpy(const std::string& path) {
  const std::string file = ReadFile(path);
  if (file.size() < 10) return {};
  const size_t header = 10 + static_cast<uint8_t>(file[8]) + 256 * static_cast<uint8_t>(file[9]);
  std::vector<T> values((file.size() - header) / sizeof(T));
  std::memcpy(values.data(), &file[header], values.size() * sizeof(T));
  return values;
}

double ToDouble(Dtype dtype, const uint8_t* at) {
  switch (dtype) {
    case Dtype::kI8:
      return static_cast<int8_t>(*at);
    case Dtype::kBf16: {
      uint16_t half;
      std::memcpy(&half, at, 2);
      const uint32_t bits = uint32_t{half} << 16;
      float value;
      std::memcpy(&value, &bits, 4);
      return value;
    }
    case Dtype::kF32: {
      float value;
      std::memcpy(&value, at, 4);
      return value;
    }
    default: {
      double value;
      std::memcpy(&value, at, 8);
      return value;
    }
  }
}

class GoldenTest : public ::testing::TestWithParam<WireDtype> {
 protected:
  void SetUp() override {
    const char* root = std::getenv("PENSTOCK_TEST_DATA");
    if (root == nullptr) GTEST_SKIP() << "PENSTOCK_TEST_DATA is not set";
    const std::string folder = absl::StrCat(root, "/golden/");
    records_ = ReadRecords(ReadFile(folder + "golden.tfrecord"));
    board_ = ReadNpy<int8_t>(folder + "board_f64_as_i8.npy");
    flags_ = ReadNpy<int8_t>(folder + "flags_i8.npy");
    score_ = ReadNpy<double>(folder + "score_f64.npy");
    ASSERT_EQ(records_.size(), kRecords);
    ASSERT_EQ(board_.size(), kRecords * 1536);
    ASSERT_EQ(flags_.size(), kRecords * 10);
    ASSERT_EQ(score_.size(), kRecords);
  }

  void Decode(SimdLevel level) {
    ASSERT_OK_AND_ASSIGN(const v1::DecodeSpec spec, LoadSpec("chess"));
    ASSERT_OK_AND_ASSIGN(program_, Program::Compile(spec, GetParam()));
    std::vector<const uint8_t*> d;
    std::vector<const uint8_t*> s;
    for (const GoldenRecord& record : records_) {
      ASSERT_EQ(record.d.size(), 194);
      d.push_back(reinterpret_cast<const uint8_t*>(record.d.data()));
      s.push_back(reinterpret_cast<const uint8_t*>(&record.s));
    }
    outputs_.clear();
    std::vector<uint8_t*> pointers;
    for (const TensorInfo& tensor : program_->tensors()) {
      outputs_.emplace_back(kRecords * tensor.row_bytes, 0xcd);
    }
    for (std::vector<uint8_t>& output : outputs_) pointers.push_back(output.data());
    const FeatureColumn columns[] = {d.data(), s.data()};
    counters_ = program_->DecodeRows(columns, kRecords, pointers, {.level = level}).counters;
  }

  double Value(size_t tensor, size_t i) const {
    const Dtype dtype = program_->tensors()[tensor].dtype;
    return ToDouble(dtype, &outputs_[tensor][i * DtypeSize(dtype)]);
  }

  // Expects equal values, and that no zero is negative.
  void ExpectExactly(size_t tensor, const std::vector<int8_t>& want) const {
    for (size_t i = 0; i < want.size(); ++i) {
      const double value = Value(tensor, i);
      ASSERT_TRUE(value == want[i] && std::signbit(value) == (want[i] < 0))
          << program_->tensors()[tensor].name << " element " << i << " is " << value << ", not "
          << int{want[i]};
    }
  }

  void ExpectScores() const {
    for (size_t i = 0; i < kRecords; ++i) {
      if (GetParam() == WireDtype::kF64) {
        ASSERT_NEAR(Value(2, i), score_[i], 1e-15) << "record " << i;
      } else {
        ASSERT_EQ(Value(2, i), static_cast<float>(score_[i])) << "record " << i;
      }
    }
  }

  std::vector<GoldenRecord> records_;
  std::vector<int8_t> board_;
  std::vector<int8_t> flags_;
  std::vector<double> score_;
  std::optional<Program> program_;
  std::vector<std::vector<uint8_t>> outputs_;
  DecodeCounters counters_;
};

TEST_P(GoldenTest, EveryLevelReproducesTensorFlow) {
  for (const SimdLevel level : AvailableSimdLevels()) {
    Decode(level);
    ExpectExactly(0, board_);
    ExpectExactly(1, flags_);
    ExpectScores();
    if (HasFatalFailure()) return;
  }
}

TEST_P(GoldenTest, CountsMatesWithoutSign) {
  uint64_t want = 0;
  for (const GoldenRecord& record : records_) want += (record.d[193] & 0x20) != 0 && record.s == 0;
  EXPECT_GT(want, 0);
  Decode(BestSimdLevel());
  EXPECT_EQ(counters_.mates_without_sign, want);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, GoldenTest,
                         ::testing::Values(WireDtype::kI8, WireDtype::kBf16, WireDtype::kF32,
                                           WireDtype::kF64),
                         [](const auto& test) { return std::string(WireDtypeName(test.param)); });

}  // namespace
}  // namespace penstock
