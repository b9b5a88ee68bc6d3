// Tests that clients which decode rows themselves get the same bytes as parts have.
#include "records/engine/row_source.h"

#include <algorithm>
#include <vector>

#include "base/streaming_copy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "records/engine/testing/engine_fixture.h"

namespace penstock {
namespace {

class NoHome final : public PartHome {
 public:
  void Return(std::span<uint8_t>) override {}
};

// Decodes in short ranges, each to separate memory, and records the part that they make up.
class RowRecorder final : public Recorder {
 public:
  RowRecorder(std::vector<size_t> row_bytes) : row_bytes_(std::move(row_bytes)) {}

  bool DecodesRows() const override { return true; }
  void OnRows(RowSource& rows) override {
    std::vector<std::vector<uint8_t>> tensors(row_bytes_.size());
    for (uint32_t begin = 0, n = 1; begin < rows.rows(); begin += n, n = 1 + n * 5 % 23) {
      n = std::min(n, rows.rows() - begin);
      std::vector<std::vector<uint8_t>> run;
      std::vector<uint8_t*> outputs;
      for (const size_t bytes : row_bytes_) {
        outputs.push_back(run.emplace_back(n * bytes).data());
      }
      EXPECT_TRUE(rows.Decode(begin, n, outputs));
      for (size_t t = 0; t < run.size(); ++t) {
        tensors[t].insert(tensors[t].end(), run[t].begin(), run[t].end());
      }
    }
    StreamingFence();
    std::vector<uint8_t> bytes;
    for (const auto& tensor : tensors) bytes.insert(bytes.end(), tensor.begin(), tensor.end());
    EXPECT_EQ(bytes.size(), rows.rows() * rows.row_bytes());
    NoHome home;
    PartBuffer part(&home, bytes, bytes.size());
    part.request = rows.request();
    part.first_row = rows.first_row();
    part.rows = rows.rows();
    OnPart(std::move(part));
  }

 private:
  const std::vector<size_t> row_bytes_;
};

class RowSourceTest : public EngineFixture, public ::testing::WithParamInterface<WireDtype> {
 protected:
  std::vector<size_t> RowBytes() const {
    auto program = Program::Compile(data_->Stream().spec, GetParam()).value();
    std::vector<size_t> bytes;
    for (const TensorInfo& tensor : program.tensors()) bytes.push_back(tensor.row_bytes);
    bytes.push_back(sizeof(int64_t));
    return bytes;
  }
};

TEST_P(RowSourceTest, RangesOfRowsMakeUpTheAnswer) {
  const ChessData& data = MakeData({.records_per_chunk = 700});
  Start();
  RowRecorder client(RowBytes());
  auto session = Open(client, /*record_ids=*/true);
  const OpenWindow window = data.Window(0, {0, 2, 5});
  ASSERT_OK(session->OpenWindow(window));
  const Fetch strips{.request = 1,
                     .window = 0,
                     .first_row = 7,
                     .rows = 160,
                     .stride = 500,
                     .count = 4,
                     .dtype = GetParam()};
  ASSERT_OK(session->Fetch(strips));
  ASSERT_OK(session->Fetch(FetchAll(window, 2, GetParam())));
  ExpectAnswer(client, window, strips, /*record_ids=*/true);
  ExpectAnswer(client, window, FetchAll(window, 2, GetParam()), /*record_ids=*/true);
  EXPECT_EQ(engine_->stats().part_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, RowSourceTest,
                         ::testing::Values(WireDtype::kPacked, WireDtype::kI8, WireDtype::kF32),
                         [](const auto& test) { return std::string(WireDtypeName(test.param)); });

using EndingTest = EngineFixture;

TEST_F(EndingTest, ASessionEndsWhenItsRowsAreDecoded) {
  const ChessData& data = MakeData();
  Start();
  class Slow final : public Recorder {
   public:
    bool DecodesRows() const override { return true; }
    void OnRows(RowSource& rows) override {
      PartBuffer part;
      part.request = rows.request();
      OnPart(std::move(part));  // Waits here.
      uint8_t bytes[PartBuffer::kMaxPartBytes / 64];
      uint8_t* outputs[] = {bytes, bytes, bytes};
      EXPECT_TRUE(rows.Decode(0, 1, outputs));
    }
  };
  Slow client;
  auto session = Open(client);
  ASSERT_OK(session->OpenWindow(data.Window(0, {0})));
  client.BlockParts();
  ASSERT_OK(session->Fetch({.request = 1, .window = 0, .rows = 5}));
  ASSERT_TRUE(client.WaitBlocked());
  session->Cancel(1);
  ASSERT_OK(session->Release(0));
  std::jthread ending([&] { session.reset(); });
  client.UnblockParts();
}

}  // namespace
}  // namespace penstock
