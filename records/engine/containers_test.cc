// Tests shards without TFRecord frames, from the file to parts.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes_of.h"
#include "base/crc32c.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/engine.h"
#include "records/engine/testing/record_data.h"
#include "records/engine/testing/recorder.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kFourBytes[] = R"(
records: RAW
tensor { name: "record" bytes { feature: "record" length: 4 } }
)";

class ContainersTest : public ::testing::Test {
 protected:
  ContainersTest() {
    EngineOptions options;
    options.data_root = folder_.path();
    options.threads = 2;
    engine_ = Engine::Create(options).value();
    session_ = engine_->OpenSession(RecordData::Stream(kFourBytes), client_).value();
  }

  // Writes `content` as a file of four-byte records. The window has all of them.
  OpenWindow WriteFixed(const std::string& content) {
    folder_.Write("a.bin", content);
    const auto size = static_cast<uint32_t>(content.size());
    OpenWindow window;
    window.shards = {{"a.bin", Container::kFixed, size}};
    window.rows = size / 4;
    window.chunks = {{.size = size,
                      .raw_size = window.rows * (4 + 16),
                      .records = window.rows,
                      .crc32c = Crc32c(BytesOf(content))}};
    window.shuffle = false;
    return window;
  }

  TempFolder folder_;
  Recorder client_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

TEST_F(ContainersTest, FixedRecordsAreRows) {
  const OpenWindow window = WriteFixed("abcdefghijkl");
  ASSERT_OK(session_->OpenWindow(window));
  ASSERT_OK(session_->Fetch({.request = 1, .rows = window.rows}));
  ASSERT_TRUE(client_.WaitRows(1, window.rows));
  EXPECT_THAT(client_.Rows(1, {4}), ::testing::ElementsAre("abcd", "efgh", "ijkl"));
}

// It is unknown which record is damaged.
TEST_F(ContainersTest, AFlippedBitLosesTheChunk) {
  const OpenWindow window = WriteFixed("abcdefghijkl");
  folder_.Write("a.bin", "abcdeFghijkl");
  ASSERT_OK(session_->OpenWindow(window));
  ASSERT_TRUE(client_.WaitErrors(1));
  const StreamError error = client_.errors().back();
  EXPECT_THAT(error.status,
              StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("a.bin"), HasSubstr("CRC"))));
  ASSERT_TRUE(error.damage);
  EXPECT_EQ(error.damage->record, 0u);
  EXPECT_TRUE(error.damage->rest_of_chunk);
}

TEST_F(ContainersTest, OtherSizesThanTheClientSaysAreDamage) {
  OpenWindow window = WriteFixed("abcdefghijkl");
  window.chunks[0].records = window.rows = 2;  // Two records of six bytes.
  ASSERT_OK(session_->OpenWindow(window));
  ASSERT_TRUE(client_.WaitErrors(1));
  EXPECT_THAT(client_.errors().back().status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("other sizes")));
}

}  // namespace
}  // namespace penstock
