#include "trainer/checkpoint/safetensors.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/status_matchers.h"
#include "trainer/model/initialize.h"

namespace penstock {
namespace {

using testing::HasSubstr;

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsTest()
      : path_(absl::StrCat(testing::TempDir(), "/safetensors_test.",
                           testing::UnitTest::GetInstance()->current_test_info()->name())),
        weights_(table_.arena_size()) {
    InitializeParameters(table_, 3, weights_);
  }
  ~SafetensorsTest() override { std::filesystem::remove(path_); }

  std::string Written() {
    EXPECT_OK(WriteSafetensors(path_, table_, weights_, {{"step", "7"}}));
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  absl::Status ReadBytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    std::vector<float> read(table_.arena_size());
    return ReadSafetensors(path_, table_, read);
  }
  // Reads the file with `from` in its header replaced by `to`, which has the same length.
  absl::Status ReadWith(absl::string_view from, absl::string_view to) {
    const std::string whole = Written();
    EXPECT_EQ(from.size(), to.size());
    EXPECT_THAT(whole, HasSubstr(std::string(from)));
    return ReadBytes(absl::StrReplaceAll(whole, {{from, to}}));
  }

  std::string path_;
  ParameterTable table_ = ParameterTable::For({"small", 1, 8, 2, 8});
  std::vector<float> weights_;
};

TEST_F(SafetensorsTest, ReturnsWhatWasWritten) {
  Written();
  std::vector<float> read(table_.arena_size(), 99.0f);
  ASSERT_OK(ReadSafetensors(path_, table_, read));
  EXPECT_EQ(read, weights_);
}

TEST_F(SafetensorsTest, IsLaidOutAsTheFormatSays) {
  const std::string bytes = Written();
  uint64_t size;
  std::memcpy(&size, bytes.data(), sizeof(size));
  EXPECT_EQ(size % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + size + 4 * table_.parameter_count());
  const auto header = nlohmann::json::parse(bytes.substr(8, size));
  EXPECT_EQ(header["__metadata__"]["step"], "7");
  EXPECT_EQ(header.size(), table_.parameters().size() + 1);
  const auto& entry = header["blocks.0.qkv.weight"];
  EXPECT_EQ(entry["dtype"], "F32");
  EXPECT_EQ(entry["shape"], nlohmann::json({24, 8}));
  const uint64_t at = entry["data_offsets"][0];
  EXPECT_EQ(std::memcmp(bytes.data() + 8 + size + at,
                        weights_.data() + table_.at("blocks.0.qkv.weight").offset, 24 * 8 * 4),
            0);
}

TEST_F(SafetensorsTest, ReadsBfloat16InAnyOrder) {
  nlohmann::ordered_json header;
  std::string data;
  const auto& all = table_.parameters();
  for (auto parameter = all.rbegin(); parameter != all.rend(); ++parameter) {
    header[parameter->name] = {{"dtype", "BF16"},
                               {"shape", parameter->shape},
                               {"data_offsets", {data.size(), data.size() + 2 * parameter->count}}};
    for (size_t i = 0; i < parameter->count; ++i) data += std::string("\xc0\x3f", 2);  // 1.5
  }
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  std::ofstream(path_, std::ios::binary) << bytes << text << data;
  std::vector<float> read(table_.arena_size());
  ASSERT_OK(ReadSafetensors(path_, table_, read));
  for (const Parameter& parameter : all) {
    EXPECT_EQ(read[parameter.offset], 1.5f) << parameter.name;
    EXPECT_EQ(read[parameter.offset + parameter.count - 1], 1.5f) << parameter.name;
  }
}

TEST_F(SafetensorsTest, RefusesACutAtEveryByte) {
  const std::string whole = Written();
  for (size_t size = 0; size < whole.size(); size += size < 40 ? 1 : 61) {
    EXPECT_THAT(ReadBytes(whole.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")))
        << size;
  }
}

TEST_F(SafetensorsTest, NeverCrashesOnAFlippedHeader) {
  const std::string whole = Written();
  uint64_t size;
  std::memcpy(&size, whole.data(), sizeof(size));
  for (size_t at = 0; at < 8 + size; at += at < 16 ? 1 : 5) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x14);
    (void)ReadBytes(flipped);  // The format has no checksum: some flips go unseen.
  }
}

TEST_F(SafetensorsTest, NamesWhatDiffersFromTheModel) {
  EXPECT_THAT(
      ReadWith("\"shape\":[24,8]", "\"shape\":[8,24]"),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("blocks.0.qkv.weight has shape [8, 24], but this model needs [24, 8]")));
  EXPECT_THAT(
      ReadWith("head.fc2.bias", "head.fc2.bies"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no tensor head.fc2.bias")));
  EXPECT_THAT(ReadWith("\"dtype\":\"F32\"", "\"dtype\":\"I32\""),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("F32 and BF16")));
  const ParameterTable larger = ParameterTable::For({"larger", 2, 8, 2, 8});
  std::vector<float> weights(larger.arena_size());
  ASSERT_OK(WriteSafetensors(path_, larger, weights, {}));
  EXPECT_THAT(
      ReadSafetensors(path_, table_, weights_),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("does not belong to this model")));
}

TEST_F(SafetensorsTest, RefusesOffsetsThatAreNoWholeNumbers) {
  for (const char* offset : {"0.0", "-12", "0e1"}) {
    const std::string to = absl::StrCat("[", offset, ",1088]");
    const std::string whole = Written();
    uint64_t size = 0;
    std::memcpy(&size, whole.data(), 8);
    std::string header = absl::StrReplaceAll(whole.substr(8, size), {{"[0,1088]", to}});
    ASSERT_NE(header, whole.substr(8, size));
    const uint64_t longer = header.size();
    const std::string prefix(reinterpret_cast<const char*>(&longer), 8);
    EXPECT_THAT(ReadBytes(prefix + header + whole.substr(8 + size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not whole numbers")));
  }
}

TEST_F(SafetensorsTest, SaysWhichFileIsMissing) {
  EXPECT_THAT(ReadSafetensors(path_, table_, weights_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

}  // namespace
}  // namespace penstock
