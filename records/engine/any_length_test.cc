// Tests records whose features have any length, from the file to parts.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/counter_rng.h"
#include "base/streaming_copy.h"
#include "gtest/gtest.h"
#include "records/engine/engine.h"
#include "records/engine/testing/record_data.h"
#include "records/engine/testing/recorder.h"
#include "records/format/testing/wire_writer.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr char kSpec[] = R"(
tensor { name: "tokens"
         number { feature: "tokens" pad { length: 12 value: -1 } truncate: true
                  length_tensor: "num_tokens" } }
tensor { name: "text" bytes { feature: "text" pad { length: 8 } truncate: true } }
tensor { name: "w" number { feature: "w" type: FLOAT count: 2 optional: true default: 0.5
                            presence_tensor: "has_w" } }
tensor { name: "id" label { feature: "id" } }
)";
// Bytes of the tensors: tokens, num_tokens, text, w, has_w, id.
const std::vector<size_t> kRowBytes = {96, 8, 8, 8, 1, 8};

template <typename T>
void Append(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

struct AnyRecord {
  std::vector<int64_t> tokens;
  std::string text;
  std::optional<std::array<float, 2>> w;
  int64_t id = 0;

  std::string Payload() const {
    std::string packed;
    for (const int64_t token : tokens) packed += Varint(static_cast<uint64_t>(token));
    std::string entries = Entry("tokens", Field(3, Field(1, packed))) +
                          Entry("text", BytesKind(text)) + Entry("id", Int64Kind(id));
    if (w) entries += Entry("w", Field(2, FloatField(1, (*w)[0]) + FloatField(1, (*w)[1])));
    return Example(entries);
  }
  // The expected result of decoding, written out from the definition.
  std::string Row() const {
    std::string row;
    for (size_t i = 0; i < 12; ++i) Append(i < tokens.size() ? tokens[i] : int64_t{-1}, row);
    Append(static_cast<int64_t>(std::min<size_t>(tokens.size(), 12)), row);
    std::string padded = text;
    padded.resize(8);
    row += padded;
    for (size_t i = 0; i < 2; ++i) Append(w ? (*w)[i] : 0.5f, row);
    Append(static_cast<uint8_t>(w.has_value()), row);
    Append(id, row);
    return row;
  }
};

std::vector<AnyRecord> RandomRecords(size_t n) {
  CounterRng rng(7);
  std::vector<AnyRecord> records(n);
  for (size_t i = 0; i < n; ++i) {
    records[i].tokens.resize(rng.Below(20));
    for (int64_t& token : records[i].tokens) {
      token = static_cast<int64_t>(rng.Next()) >> rng.Below(64);
    }
    records[i].text = std::string(rng.Below(12), static_cast<char>('a' + rng.Below(26)));
    if (rng.Below(2) == 0) records[i].w = {static_cast<float>(i), -1.0f};
    records[i].id = static_cast<int64_t>(i);
  }
  return records;
}

std::vector<std::string> Payloads(const std::vector<AnyRecord>& records) {
  std::vector<std::string> payloads;
  for (const AnyRecord& record : records) payloads.push_back(record.Payload());
  return payloads;
}

Fetch FetchAll(const OpenWindow& window, uint64_t request) {
  return {.request = request, .window = window.window, .rows = window.rows, .needed_at = request};
}

// Decodes every row in the event, and records which errors followed.
class RowReader final : public Recorder {
 public:
  bool DecodesRows() const override { return true; }
  void OnRows(RowSource& rows) override {
    std::vector<uint8_t> bytes(rows.rows() * rows.row_bytes());
    uint8_t* outputs[] = {bytes.data()};
    decoded_ = rows.Decode(0, rows.rows(), outputs);
    StreamingFence();
  }
  bool decoded() const { return decoded_; }

 private:
  std::atomic<bool> decoded_ = true;
};

class AnyLengthTest : public ::testing::Test {
 protected:
  void Start(uint64_t strip_cache = 0) {
    EngineOptions options;
    options.data_root = folder_.path();
    options.threads = 2;
    options.memory_budget = uint64_t{64} << 20;
    options.strip_cache = strip_cache;
    auto engine = Engine::Create(options);
    ASSERT_THAT(engine, IsOk());
    engine_ = *std::move(engine);
  }
  std::unique_ptr<Session> Open(const std::string& spec, SessionEvents& events) {
    auto session = engine_->OpenSession(RecordData::Stream(spec), events);
    EXPECT_THAT(session, IsOk());
    return session.ok() ? *std::move(session) : nullptr;
  }

  TempFolder folder_;
  std::unique_ptr<Engine> engine_;
};

class AnyLengthFilesTest : public AnyLengthTest,
                           public ::testing::WithParamInterface<Compression> {};

TEST_P(AnyLengthFilesTest, RowsAreWhatTheSpecSays) {
  const std::vector<AnyRecord> records = RandomRecords(500);
  const RecordData data(folder_.path(), Payloads(records), 60, GetParam());
  Start();
  Recorder client;
  auto session = Open(kSpec, client);
  const OpenWindow window = data.Window(0);
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, window.rows));
  const std::vector<std::string> rows = client.Rows(1, kRowBytes);
  for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(rows[i], records[i].Row()) << i;
}

INSTANTIATE_TEST_SUITE_P(Files, AnyLengthFilesTest,
                         ::testing::Values(Compression::kNone, Compression::kGzip,
                                           Compression::kZstd));

TEST_F(AnyLengthTest, ListedDamageIsReplaced) {
  const std::vector<AnyRecord> records = RandomRecords(20);
  const RecordData data(folder_.path(), Payloads(records), 10);
  Start();
  Recorder client;
  auto session = Open(kSpec, client);
  OpenWindow window = data.Window(0);
  window.damaged = {{.chunk = 0, .record = 3}};
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, window.rows));
  const std::vector<std::string> rows = client.Rows(1, kRowBytes);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(rows[i], records[i == 3 ? 4 : i].Row()) << i;
  }
}

TEST_F(AnyLengthTest, ALongerListIsAnErrorOfItsRecord) {
  std::vector<AnyRecord> records = RandomRecords(20);
  for (AnyRecord& record : records) record.text = "12345678";
  records[13].text = "123456789";
  const RecordData data(folder_.path(), Payloads(records), 10);
  Start();
  Recorder client;
  auto session =
      Open(R"(tensor { name: "t" bytes { feature: "text" pad { length: 8 } } })", client);
  ASSERT_OK(session->OpenWindow(data.Window(0)));
  ASSERT_TRUE(client.WaitErrors(1));
  const StreamError error = client.errors()[0];
  EXPECT_THAT(
      error.status,
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("record 3: feature 'text' has 9 bytes, but the spec takes at most 8")));
}

constexpr char kSample[] =
    "tensor { name: 't' bytes { feature: 'jpg|jpeg|png' pad { length: 4 } } }"
    "tensor { name: 'y' label { feature: 'class|cls' } }";

// 40 records, each with an image in one of two formats.
std::vector<std::string> Samples() {
  std::vector<std::string> payloads;
  for (int i = 0; i < 40; ++i) {
    const std::string name = i % 3 == 0 ? "jpg" : "png";
    payloads.push_back(
        Example(Entry(name, BytesKind(std::string(1 + i % 4, 'a'))) + Entry("cls", Int64Kind(i))));
  }
  return payloads;
}

TEST_F(AnyLengthTest, RowsTakeTheAlternativeThatTheirRecordHas) {
  const RecordData data(folder_.path(), Samples(), 10);
  Start();
  Recorder client;
  auto session = Open(kSample, client);
  const OpenWindow window = data.Window(0);
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, window.rows));
  const std::vector<std::string> rows = client.Rows(1, {4, 8});
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string want(1 + i % 4, 'a');
    want.resize(4);
    Append(static_cast<int64_t>(i), want);
    EXPECT_EQ(rows[i], want);
  }
}

TEST_F(AnyLengthTest, TwoAlternativesAreAnErrorOfTheirRecord) {
  std::vector<std::string> payloads = Samples();
  payloads[13] = Example(Entry("jpg", BytesKind("a")) + Entry("png", BytesKind("b")) +
                         Entry("cls", Int64Kind(13)));
  const RecordData data(folder_.path(), payloads, 10);
  Start();
  Recorder client;
  auto session = Open(kSample, client);
  ASSERT_OK(session->OpenWindow(data.Window(0)));
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_THAT(std::string(client.errors()[0].status.message()),
              HasSubstr("record 3: the record has both 'jpg' and 'png', but feature 'jpg|jpeg|png' "
                        "may match only one"));
}

TEST_F(AnyLengthTest, RawRecordsGivePartsOfTheirBytes) {
  std::vector<std::string> payloads = {
      "\x07"
      "abcdef",
      "\xff"
      "ghijkl"};
  const RecordData data(folder_.path(), payloads, 2);
  Start();
  Recorder client;
  auto session = Open(
      "records: RAW "
      "tensor { name: 'x' bytes { feature: 'record' feature_bytes: 7 first_byte: 1 dims: [3, 2] "
      "transpose: [1, 0] } }"
      "tensor { name: 'y' label { feature: 'record' feature_bytes: 7 byte: 0 } }",
      client);
  const OpenWindow window = data.Window(0);
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, 2));
  std::string first = "acebdf", second = "gikhjl";
  Append(int64_t{7}, first);
  Append(int64_t{255}, second);
  EXPECT_EQ(client.Rows(1, {6, 8}), (std::vector<std::string>{first, second}));
}

constexpr char kNarrow[] = R"(tensor { name: "id" number { feature: "id" count: 1 as: F32 } })";

// 60 records. One in the fourth chunk, the fortieth, has an id that no float32 can hold.
std::vector<std::string> OneWideId() {
  std::vector<AnyRecord> records = RandomRecords(60);
  records[40].id = (int64_t{1} << 62) + 1;
  return Payloads(records);
}

TEST_F(AnyLengthTest, ARowThatCannotBeDecodedIsAnErrorOfItsRequest) {
  const RecordData data(folder_.path(), OneWideId(), 12);
  Start();
  Recorder client;
  auto session = Open(kNarrow, client);
  const OpenWindow window = data.Window(0);
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch({.request = 1, .window = 0, .first_row = 30, .rows = 30}));
  ASSERT_TRUE(client.WaitErrors(1));
  const StreamError error = client.errors()[0];
  EXPECT_EQ(error.request, 1u);
  EXPECT_THAT(error.status, StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("shard 'records.tfrecord', chunk at")));
  EXPECT_THAT(std::string(error.status.message()), HasSubstr("record 4: "));
  // The session and the window remain usable.
  ASSERT_OK(session->Fetch({.request = 2, .window = 0, .first_row = 0, .rows = 40}));
  EXPECT_TRUE(client.WaitRows(2, 40));
  ASSERT_OK(session->Fetch({.request = 3, .window = 0, .first_row = 40, .rows = 1}));
  EXPECT_TRUE(client.WaitErrors(2));
  ASSERT_OK(session->Release(0));
}

TEST_F(AnyLengthTest, ABlockThatCannotBeDecodedIsAnErrorOfAllWhoAskForIt) {
  const RecordData data(folder_.path(), OneWideId(), 12);
  Start(/*strip_cache=*/uint64_t{8} << 20);
  Recorder clients[4];
  std::vector<std::unique_ptr<Session>> sessions;
  const OpenWindow window = data.Window(0);
  for (Recorder& client : clients) {
    sessions.push_back(Open(kNarrow, client));
    ASSERT_OK(sessions.back()->OpenWindow(window));
  }
  for (int round = 1; round <= 20; ++round) {
    for (auto& session : sessions) {
      ASSERT_OK(session->Fetch(FetchAll(window, static_cast<uint64_t>(round))));
    }
    for (Recorder& client : clients) ASSERT_TRUE(client.WaitErrors(static_cast<size_t>(round)));
  }
  for (Recorder& client : clients) {
    for (const StreamError& error : client.errors()) {
      EXPECT_THAT(std::string(error.status.message()), HasSubstr("record 4: "));
    }
  }
}

TEST_F(AnyLengthTest, AReaderOfRowsIsToldOfOneThatCannotBeDecoded) {
  const RecordData data(folder_.path(), OneWideId(), 12);
  Start();
  RowReader client;
  auto session = Open(kNarrow, client);
  ASSERT_OK(session->OpenWindow(data.Window(0)));
  ASSERT_OK(session->Fetch(FetchAll(data.Window(0), 1)));
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_FALSE(client.decoded());
  EXPECT_EQ(client.errors()[0].request, 1u);
}

TEST_F(AnyLengthTest, ARowLargerThanAPartIsAPart) {
  constexpr size_t kBytes = (size_t{5} << 20) / 2;
  std::vector<std::string> payloads;
  for (char c : {'a', 'b', 'c', 'd'}) payloads.push_back(std::string(kBytes, c));
  const RecordData data(folder_.path(), payloads, 1);
  Start();
  Recorder client;
  auto session = Open(
      R"(records: RAW tensor { name: "r" bytes { feature: "record" length: 2621440 } })", client);
  const OpenWindow window = data.Window(0);
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchAll(window, 1)));
  ASSERT_TRUE(client.WaitRows(1, 4));
  EXPECT_EQ(client.Rows(1, {kBytes}), payloads);
  EXPECT_EQ(client.order().size(), 4u);
}

TEST_F(AnyLengthTest, TheLargestRowIsNamed) {
  Start();
  Recorder client;
  EXPECT_THAT(
      engine_->OpenSession(
          RecordData::Stream(
              R"(records: RAW tensor { name: "r" bytes { feature: "record" length: 3145729 } })"),
          client),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("as i8 one row has 3145729 bytes; the largest that fits has 3145728 "
                         "(3 MiB). Its largest tensor is 'r', u8 [3145729] of feature 'record'")));
}

}  // namespace
}  // namespace penstock
