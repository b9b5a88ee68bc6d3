// Compares features of any length, optional features, and integers of other types with independent
// formulas, for every level and dtype.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bfloat16.h"
#include "base/streaming_copy.h"
#include "gmock/gmock.h"
#include "records/decode/program.h"
#include "records/decode/testing/compile_text.h"
#include "records/decode/testing/elements.h"
#include "records/decode/testing/variable_row.h"
#include "tests/status_matchers.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

// rows[i][c] is feature c of row i.
using RecordRow = std::vector<FeatureRow>;
using RecordRows = std::vector<RecordRow>;

struct DecodedRecords {
  std::vector<std::vector<uint8_t>> tensors;
  DecodeOutcome outcome;
};

DecodedRecords DecodeRecords(const Program& program, const RecordRows& rows,
                             SimdLevel level = BestSimdLevel(), Stores stores = Stores::kCached) {
  std::vector<std::vector<const uint8_t*>> pointers(program.features().size());
  for (const RecordRow& row : rows) {
    for (size_t c = 0; c < pointers.size(); ++c) pointers[c].push_back(row[c].data());
  }
  std::vector<FeatureColumn> columns;
  for (const auto& column : pointers) columns.push_back(column.data());
  DecodedRecords decoded;
  std::vector<uint8_t*> outputs;
  for (const TensorInfo& tensor : program.tensors()) {
    decoded.tensors.emplace_back(rows.size() * tensor.row_bytes, 0xcd);
  }
  for (std::vector<uint8_t>& tensor : decoded.tensors) outputs.push_back(tensor.data());
  decoded.outcome =
      program.DecodeRows(columns, rows.size(), outputs, {.level = level, .stores = stores});
  StreamingFence();
  return decoded;
}

std::string SpecOf(const std::string& operation) {
  return absl::StrCat("tensor { name: 'x' ", operation, " } ");
}

Program MustCompile(const std::string& spec, WireDtype dtype = WireDtype::kI8) {
  absl::StatusOr<Program> program = CompileText(spec, dtype);
  EXPECT_OK(program);
  return *program;
}

FeatureRow Ints(const std::vector<int64_t>& values) { return IntegersRow(values); }
FeatureRow Floats(const std::vector<float>& values) { return FloatsRow(values); }
FeatureRow List(const std::vector<std::string>& values) { return ListRow(values); }
FeatureRow Fixed(const std::vector<int64_t>& values) {
  return FixedRow(std::span<const int64_t>(values));
}
FeatureRow FixedFloats(const std::vector<float>& values) {
  return FixedRow(std::span<const float>(values));
}

TEST(VariableStepsTest, PadFillsWhatARowLacks) {
  const DecodedRecords decoded = DecodeRecords(
      MustCompile(SpecOf("number { feature: 'n' pad { length: 3 value: -1 } length_tensor: 'n' }")),
      {{Ints({7})}, {Ints({1, 1 << 20, kMaxInt64})}, {Ints({})}});
  EXPECT_THAT(As<int64_t>(decoded.tensors[0]),
              ElementsAre(7, -1, -1, 1, 1 << 20, kMaxInt64, -1, -1, -1));
  EXPECT_THAT(As<int64_t>(decoded.tensors[1]), ElementsAre(1, 3, 0));
}

TEST(VariableStepsTest, TruncateCutsWhatIsBeyondTheLength) {
  const DecodedRecords decoded = DecodeRecords(
      MustCompile(SpecOf("number { feature: 'n' ragged { max_length: 2 } truncate: true }")),
      {{Ints({-7, 8, 9})}, {Ints({5})}});
  EXPECT_THAT(As<int64_t>(decoded.tensors[0]), ElementsAre(-7, 8, 5, 0));
  EXPECT_THAT(As<int64_t>(decoded.tensors[1]), ElementsAre(2, 1));
}

TEST(VariableStepsTest, ItemsHaveAShape) {
  const DecodedRecords decoded = DecodeRecords(
      MustCompile(SpecOf("number { feature_list: 'n' type: FLOAT pad { length: 2 value: 0.5 } "
                         "shape: 2 length_tensor: 'n' }")),
      {{Floats({1, 2})}, {Floats({})}});
  EXPECT_THAT(As<float>(decoded.tensors[0]), ElementsAre(1, 2, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(As<int64_t>(decoded.tensors[1]), ElementsAre(1, 0));
}

TEST(VariableStepsTest, BytesArePaddedAndCut) {
  const DecodedRecords decoded = DecodeRecords(
      MustCompile(SpecOf("bytes { feature: 'b' pad { length: 3 value: 32 } truncate: true "
                         "length_tensor: 'n' }")),
      {{BytesRow("hello")}, {BytesRow("a")}, {BytesRow("")}});
  EXPECT_EQ(std::string(decoded.tensors[0].begin(), decoded.tensors[0].end()), "hela     ");
  EXPECT_THAT(As<int64_t>(decoded.tensors[1]), ElementsAre(3, 1, 0));
}

TEST(VariableStepsTest, LengthsOfBytesCountItemsOfTheShape) {
  const DecodedRecords decoded =
      DecodeRecords(MustCompile(SpecOf("bytes { feature: 'b' ragged { max_length: 2 } shape: 3 }")),
                    {{BytesRow("abcdef")}, {BytesRow("abc")}});
  EXPECT_THAT(As<int64_t>(decoded.tensors[1]), ElementsAre(2, 1));
}

TEST(VariableStepsTest, ListsArePaddedInBothDirections) {
  const DecodedRecords decoded =
      DecodeRecords(MustCompile(SpecOf("bytes { feature: 'b' list { count: 2 count_tensor: 'n' } "
                                       "ragged { max_length: 3 } truncate: true optional: true "
                                       "presence_tensor: 'has' }")),
                    {{List({"ab", "", "cd"})}, {List({"hello"})}, {AbsentRow()}});
  EXPECT_THAT(decoded.tensors[0], ElementsAre('a', 'b', 0, 0, 0, 0, 'h', 'e', 'l', 0, 0, 0,  //
                                              0, 0, 0, 0, 0, 0));
  EXPECT_THAT(As<int64_t>(decoded.tensors[1]), ElementsAre(2, 0, 3, 0, 0, 0));
  EXPECT_THAT(As<int64_t>(decoded.tensors[2]), ElementsAre(2, 1, 0));
  EXPECT_THAT(decoded.tensors[3], ElementsAre(1, 1, 0));
}

TEST(VariableStepsTest, DefaultsStandForAbsentFeatures) {
  const DecodedRecords decoded = DecodeRecords(
      MustCompile(
          SpecOf("number { feature: 'a' count: 2 optional: true default: [3, 4] }") +
          "tensor { name: 'y' number { feature: 'b' count: 2 type: FLOAT optional: true "
          "default: 0.1 presence_tensor: 'has' } } "
          "tensor { name: 'z' bytes { feature: 'c' length: 2 optional: true default: 'no' } } "
          "tensor { name: 'w' number { feature: 'd' count: 2 optional: true } }"),
      {{AbsentRow(), AbsentRow(), AbsentRow(), AbsentRow()},
       {Ints({-1, 0}), Floats({1, 2}), BytesRow("ab"), Ints({5, 6})}});
  EXPECT_THAT(As<int64_t>(decoded.tensors[0]), ElementsAre(3, 4, -1, 0));
  EXPECT_THAT(As<float>(decoded.tensors[1]), ElementsAre(0.1f, 0.1f, 1, 2));
  EXPECT_THAT(decoded.tensors[2], ElementsAre(0, 1));
  EXPECT_THAT(decoded.tensors[3], ElementsAre('n', 'o', 'a', 'b'));
  EXPECT_THAT(As<int64_t>(decoded.tensors[4]), ElementsAre(0, 0, 5, 6));
}

TEST(VariableStepsTest, LabelsAddAConstantToWhatARecordHas) {
  const DecodedRecords decoded = DecodeRecords(
      MustCompile(SpecOf("label { feature: 'a' add: -1 }") +
                  "tensor { name: 'y' label { feature: 'b' add: 10 optional: true default: -5 "
                  "presence_tensor: 'has' } } "
                  "tensor { name: 'z' label { feature: 'c' type: FLOAT optional: true "
                  "default: 0.25 } } "
                  "tensor { name: 'w' label { feature: 'd' type: FLOAT } }"),
      {{Fixed({1}), Ints({1}), Floats({0.5f}), FixedFloats({1.5f})},
       {Fixed({-kMaxInt64}), AbsentRow(), AbsentRow(), FixedFloats({-2.5f})}});
  EXPECT_THAT(As<int64_t>(decoded.tensors[0]), ElementsAre(0, -kMaxInt64 - 1));
  EXPECT_THAT(As<int64_t>(decoded.tensors[1]), ElementsAre(11, -5));
  EXPECT_THAT(decoded.tensors[2], ElementsAre(1, 0));
  EXPECT_THAT(As<float>(decoded.tensors[3]), ElementsAre(0.5, 0.25));
  EXPECT_THAT(As<float>(decoded.tensors[4]), ElementsAre(1.5, -2.5));
}

TEST(VariableStepsTest, IntegersBecomeWhatTheSpecSays) {
  const std::string kTypes[] = {"I32", "F32", "BF16"};
  for (const std::string& type : kTypes) {
    for (const char* size : {"count: 2", "pad { length: 2 }"}) {
      const Program program =
          MustCompile(SpecOf(absl::StrCat("number { feature: 'n' as: ", type, " ", size, " }")));
      const bool fixed = !program.features()[0].variable;
      const DecodedRecords decoded =
          DecodeRecords(program, {{fixed ? Fixed({-3, 256}) : Ints({-3, 256})}});
      EXPECT_FALSE(decoded.outcome.failure);
      const std::vector<uint8_t>& bytes = decoded.tensors[0];
      if (type == "I32") {
        EXPECT_THAT(As<int32_t>(bytes), ElementsAre(-3, 256));
      } else if (type == "F32") {
        EXPECT_THAT(As<float>(bytes), ElementsAre(-3, 256));
      } else {
        EXPECT_THAT(As<uint16_t>(bytes), ElementsAre(ToBf16(-3), ToBf16(256)));
      }
    }
  }
}

void ExpectFailure(const DecodedRecords& decoded, size_t row,
                   const ::testing::Matcher<std::string>& message) {
  ASSERT_TRUE(decoded.outcome.failure);
  EXPECT_EQ(decoded.outcome.failure->row, row);
  EXPECT_THAT(decoded.outcome.failure->status,
              StatusIs(absl::StatusCode::kInvalidArgument, message));
}

TEST(DecodeFailureTest, AnIntegerThatTheTypeDoesNotHoldNamesItself) {
  const int64_t id = int64_t{1} << 62;
  for (const auto& [type, value] :
       {std::pair<std::string, int64_t>{"F32", id + 1}, {"I32", id}, {"BF16", 257}}) {
    const std::string message = absl::StrCat("feature 'id': ", type, " cannot hold ", value,
                                             " exactly: leave out `as` to get an i64 tensor");
    const std::string as = absl::StrCat("number { feature: 'id' as: ", type, " ");
    ExpectFailure(DecodeRecords(MustCompile(SpecOf(as + "count: 2 }")),
                                {{Fixed({1, 2})}, {Fixed({1, value})}}),
                  1, message);
    ExpectFailure(DecodeRecords(MustCompile(SpecOf(as + "pad { length: 2 } }")),
                                {{Ints({1})}, {Ints({1, value})}}),
                  1, message);
  }
}

TEST(DecodeFailureTest, ALabelOutsideOfInt64NamesTheSum) {
  ExpectFailure(
      DecodeRecords(MustCompile(SpecOf("label { feature: 'l' add: 1 }")), {{Fixed({kMaxInt64})}}),
      0,
      "feature 'l': label 9223372036854775807 plus 1 (`add` in the spec) does not fit into int64");
  ExpectFailure(DecodeRecords(MustCompile(SpecOf("label { feature: 'l' add: -2 optional: true }")),
                              {{AbsentRow()}, {Ints({-kMaxInt64})}}),
                1,
                "feature 'l': label -9223372036854775807 plus -2 (`add` in the spec) does not fit "
                "into int64");
}

// Integers `a` and `b` as F32, and a mate bit. A row may fail because of either integer.
class FailingRowsTest : public ::testing::Test {
 protected:
  static RecordRow Row(int64_t a, int64_t b) {
    return {Fixed({a}), Ints({b}), Fixed({0}), FeatureRow{0x80}};
  }

  Program program_ = MustCompile(
      SpecOf("number { feature: 'a' count: 1 as: F32 }") +
      "tensor { name: 'y' number { feature: 'b' pad { length: 1 } as: F32 } } "
      "tensor { name: 'z' mate_score { feature: 's' mate_feature: 'm' mate_feature_bytes: 1 } }");
};

TEST_F(FailingRowsTest, TheLowestRowEndsTheCallAndThoseBeforeAreWritten) {
  constexpr int64_t kBad = 16777217;
  for (size_t low = 0; low < 40; ++low) {
    for (const bool first : {true, false}) {
      RecordRows rows;
      for (size_t row = 0; row < 40; ++row) rows.push_back(Row(static_cast<int64_t>(row), -1));
      rows[low] = first ? Row(kBad, 0) : Row(0, kBad);
      if (low + 3 < 40) rows[low + 3] = first ? Row(0, kBad) : Row(kBad, 0);
      const DecodedRecords decoded = DecodeRecords(program_, rows);
      ExpectFailure(
          decoded, low,
          HasSubstr(first ? "'a': F32 cannot hold 16777217" : "'b': F32 cannot hold 16777217"));
      for (size_t row = 0; row < low; ++row) {
        ASSERT_EQ(As<float>(decoded.tensors[0])[row], static_cast<float>(row));
        ASSERT_EQ(As<float>(decoded.tensors[1])[row], -1);
        ASSERT_EQ(As<float>(decoded.tensors[2])[row], 0);
      }
      EXPECT_EQ(decoded.outcome.counters.mates_without_sign, low);
    }
  }
}

// A random number tensor with an independent result, computed value by value in doubles, which can
// hold every integer that is drawn.
struct RandomNumber {
  explicit RandomNumber(std::mt19937_64& random)
      : floats(random() % 2 == 0),
        padded(random() % 3 > 0),
        optional(random() % 2 == 0),
        truncate(padded && random() % 2 == 0),
        as(floats ? 0 : random() % 4) {
    for (size_t i = random() % 3; i > 0; --i) shape.push_back(1 + random() % 4);
    if (!padded && shape.empty()) shape.push_back(1 + random() % 300);
    item = std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
    length = padded ? 1 + random() % 200 : 1;
    fill = static_cast<double>(random() % 200) - 100;
  }

  std::string Spec() const {
    std::string fields = absl::StrCat("feature: 'n' shape: [", absl::StrJoin(shape, ","), "] ");
    if (floats) absl::StrAppend(&fields, "type: FLOAT ");
    constexpr const char* kAs[] = {"", "as: I32 ", "as: F32 ", "as: BF16 "};
    absl::StrAppend(&fields, kAs[as]);
    if (padded) absl::StrAppend(&fields, "pad { length: ", length, " value: ", fill, " } ");
    if (padded) absl::StrAppend(&fields, "length_tensor: 'n' ");
    if (truncate) absl::StrAppend(&fields, "truncate: true ");
    if (optional) absl::StrAppend(&fields, "optional: true presence_tensor: 'has' ");
    if (optional && !padded) absl::StrAppend(&fields, "default: ", fill, " ");
    return SpecOf(absl::StrCat("number { ", fields, "}"));
  }

  // The values of a record, or none.
  std::optional<std::vector<double>> Values(std::mt19937_64& random) const {
    if (optional && random() % 4 == 0) return std::nullopt;
    const size_t items = padded ? random() % (length + (truncate ? 50 : 1)) : 1;
    std::vector<double> values(item * items);
    for (double& value : values) value = Value(random);
    return values;
  }

  // Integers that BF16 can hold, if the spec asks for BF16; else integers of up to 53 or 24 bits.
  double Value(std::mt19937_64& random) const {
    if (floats) return static_cast<float>(static_cast<double>(random() % 2001) / 7 - 100);
    constexpr int kBits[] = {53, 31, 24, 8};
    const auto magnitude =
        static_cast<double>(random() % (uint64_t{1} << (1 + random() % kBits[as])));
    return random() % 2 == 0 ? magnitude : -magnitude;
  }

  FeatureRow Row(const std::optional<std::vector<double>>& values) const {
    if (!values) return AbsentRow();
    if (floats) {
      const std::vector<float> all(values->begin(), values->end());
      return padded || optional ? Floats(all) : FixedFloats(all);
    }
    const std::vector<int64_t> all(values->begin(), values->end());
    return padded || optional ? Ints(all) : Fixed(all);
  }

  std::vector<double> Want(const std::optional<std::vector<double>>& values) const {
    std::vector<double> want = values.value_or(std::vector<double>());
    want.resize(item * length, fill);
    return want;
  }

  bool floats, padded, optional, truncate;
  size_t as;
  std::vector<size_t> shape;
  size_t item, length;
  double fill;
};

double Element(Dtype dtype, const uint8_t* at) {
  const auto load = [at](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  switch (dtype) {
    case Dtype::kI64:
      return static_cast<double>(load(int64_t{}));
    case Dtype::kI32:
      return load(int32_t{});
    case Dtype::kBf16:
      return FromBf16(load(uint16_t{}));
    case Dtype::kF64:
      return load(double{});
    default:
      return load(float{});
  }
}

void ExpectHolds(const RandomNumber& number, WireDtype wire_dtype, std::mt19937_64& random) {
  const Program program = MustCompile(number.Spec(), wire_dtype);
  const TensorInfo& tensor = program.tensors()[0];
  RecordRows rows;
  std::vector<double> want;
  std::vector<int64_t> lengths;
  std::vector<uint8_t> present;
  for (size_t row = 0; row < 20; ++row) {
    const auto values = number.Values(random);
    rows.push_back({number.Row(values)});
    for (const double value : number.Want(values)) {
      const bool rounds = tensor.dtype == Dtype::kBf16;
      want.push_back(rounds ? FromBf16(ToBf16(static_cast<float>(value))) : value);
    }
    const size_t items = values ? values->size() / number.item : 0;
    lengths.push_back(static_cast<int64_t>(std::min(items, number.length)));
    present.push_back(values ? 1 : 0);
  }
  for (const SimdLevel level : AvailableSimdLevels()) {
    for (const Stores stores : {Stores::kCached, Stores::kStreaming}) {
      const DecodedRecords decoded = DecodeRecords(program, rows, level, stores);
      ASSERT_FALSE(decoded.outcome.failure) << decoded.outcome.failure->status;
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(Element(tensor.dtype, &decoded.tensors[0][i * DtypeSize(tensor.dtype)]), want[i])
            << SimdLevelName(level) << " element " << i << " " << number.Spec();
      }
      for (size_t row = 0; row < rows.size(); ++row) {
        if (number.padded) {
          ASSERT_EQ(As<int64_t>(decoded.tensors[1])[row], lengths[row]);
        }
        if (number.optional) {
          ASSERT_EQ(decoded.tensors.back()[row], present[row]);
        }
      }
    }
  }
}

TEST(VariableStepsTest, RandomNumbersHoldTheDefinition) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const RandomNumber number(random);
    for (const WireDtype dtype : kExpanded) {
      ExpectHolds(number, dtype, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

std::string RandomText(std::mt19937_64& random, size_t size) {
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST(VariableStepsTest, RandomListsHoldTheDefinition) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    const size_t count = 1 + random() % 5, length = 1 + random() % 300;
    const Program program = MustCompile(SpecOf(absl::StrCat(
        "bytes { feature: 'b' list { count: ", count, " count_tensor: 'n' } pad { length: ", length,
        " value: 7 } truncate: true length_tensor: 'lengths' }")));
    RecordRows rows;
    std::string want;
    std::vector<int64_t> lengths, counts;
    for (size_t row = 0; row < 20; ++row) {
      std::vector<std::string> values(random() % 8);
      for (std::string& value : values) value = RandomText(random, random() % 400);
      rows.push_back({List(values)});
      counts.push_back(static_cast<int64_t>(std::min(values.size(), count)));
      values.resize(count);
      for (std::string& value : values) {
        value = value.substr(0, length);
        lengths.push_back(static_cast<int64_t>(value.size()));
        want += value + std::string(length - value.size(), 7);
      }
    }
    for (const Stores stores : {Stores::kCached, Stores::kStreaming}) {
      const DecodedRecords decoded = DecodeRecords(program, rows, BestSimdLevel(), stores);
      ASSERT_EQ(std::string(decoded.tensors[0].begin(), decoded.tensors[0].end()), want);
      ASSERT_EQ(As<int64_t>(decoded.tensors[1]), lengths);
      ASSERT_EQ(As<int64_t>(decoded.tensors[2]), counts);
    }
  }
}

}  // namespace
}  // namespace penstock
