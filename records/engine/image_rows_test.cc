// Tests records of encoded images, from the file to parts: which pixels a row has, and what
// replaces images that cannot be decoded.
#include <set>
#include <string>
#include <vector>

#include "base/load.h"
#include "gtest/gtest.h"
#include "records/engine/engine.h"
#include "records/engine/testing/record_data.h"
#include "records/engine/testing/recorder.h"
#include "records/format/testing/wire_writer.h"
#include "records/image/image_transform.h"
#include "records/image/self_test_images.h"
#include "tests/status_matchers.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kImageSpec[] = R"(
tensor { name: "image" image { feature: "jpeg"
                               random_resized_crop { height: 12 width: 16 } flip: 0.5 } }
tensor { name: "label" label { feature: "label" } })";
constexpr size_t kImageBytes = 12 * 16 * 3;
// Bytes of the tensors and of the record id.
const std::vector<size_t> kImageRowBytes = {kImageBytes, 8, 8};
constexpr uint64_t kKey = 1234;

std::string Jpeg(size_t i) {
  const std::span<const uint8_t> bytes = SelfTestImages()[i % SelfTestImages().size()];
  return std::string(bytes.begin(), bytes.end());
}

std::string Payload(const std::string& jpeg, size_t label) {
  return Example(Entry("jpeg", BytesKind(jpeg)) +
                 Entry("label", Int64Kind(static_cast<int64_t>(label))));
}

std::string Bytes64(uint64_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// The row of record `i`, computed from the definition. `id` is the record's, possibly with
// kReplacedRecord.
std::string WantedRow(size_t i, uint64_t key, uint64_t id) {
  const ImageOps ops{.crop = RandomResizedCropOp{.output = {.width = 16, .height = 12}},
                     .flip_probability = 0.5};
  std::string row(kImageBytes, '\0');
  ImageTransform transform;
  const std::string jpeg = Jpeg(i);
  EXPECT_THAT(transform.Apply(BytesOf(jpeg), ops, Uniforms(ImageKey(key, i, 0)),
                              {reinterpret_cast<uint8_t*>(row.data()), row.size()}),
              IsOk());
  return row + Bytes64(i) + Bytes64(id);
}

class ImageRowsTest : public ::testing::Test {
 protected:
  static constexpr size_t kRecords = 40;

  // Writes images, ten to a chunk. Those in `broken` cannot be decoded. `behind` bytes follow the
  // end marker of each image.
  void Write(const std::set<size_t>& broken, size_t behind = 0) {
    std::vector<std::string> payloads;
    for (size_t i = 0; i < kRecords; ++i) {
      const std::string image = broken.contains(i) ? "no image" : Jpeg(i);
      payloads.push_back(Payload(image + std::string(behind, '\0'), i));
    }
    data_.emplace(folder_.path(), payloads, 10);
  }
  // Writes images. Those in `cut` are truncated.
  void WriteCut(const std::set<size_t>& cut) {
    std::vector<std::string> payloads;
    for (size_t i = 0; i < kRecords; ++i) {
      const std::string image = Jpeg(i);
      payloads.push_back(Payload(image.substr(0, image.size() - (cut.contains(i) ? 40 : 0)), i));
    }
    data_.emplace(folder_.path(), payloads, 10);
  }
  void Start(uint64_t strip_cache = 0, uint32_t threads = 2) {
    EngineOptions options;
    options.data_root = folder_.path();
    options.threads = threads;
    options.memory_budget = uint64_t{64} << 20;
    options.strip_cache = strip_cache;
    auto engine = Engine::Create(options);
    ASSERT_THAT(engine, IsOk());
    engine_ = *std::move(engine);
  }
  std::unique_ptr<Session> Open(SessionEvents& events, bool replace,
                                absl::string_view spec = kImageSpec) {
    StreamOptions options = RecordData::Stream(std::string(spec));
    options.record_ids = true;
    options.replace_undecodable = replace;
    auto session = engine_->OpenSession(options, events);
    EXPECT_THAT(session, IsOk());
    return session.ok() ? *std::move(session) : nullptr;
  }
  OpenWindow Window(uint64_t number, uint64_t key = kKey) const {
    OpenWindow window = data_->Window(number);
    window.augmentation_key = key;
    return window;
  }
  // A window of one chunk, with another chunk as its spare if one is given.
  OpenWindow Window(uint64_t number, size_t chunk, std::optional<size_t> spare) const {
    OpenWindow window = Window(number);
    const std::vector<ChunkRef> chunks = window.chunks;
    window.chunks = {chunks[chunk]};
    window.rows = chunks[chunk].records;
    window.has_spare = spare.has_value();
    if (spare) window.chunks.push_back(chunks[*spare]);
    return window;
  }

  TempFolder folder_;
  std::optional<RecordData> data_;
  std::unique_ptr<Engine> engine_;
};

Fetch FetchImages(const OpenWindow& window, uint64_t request, uint32_t first, uint32_t rows) {
  return {.request = request,
          .window = window.window,
          .first_row = first,
          .rows = rows,
          .needed_at = request};
}

TEST_F(ImageRowsTest, PixelsBelongToTheRecordAndTheKey) {
  Write({});
  Start();
  Recorder client;
  auto session = Open(client, false);
  // Two windows that differ only in their key, and one that is shuffled.
  OpenWindow windows[] = {Window(0), Window(1, kKey + 1), Window(2)};
  windows[2].shuffle = true;
  windows[2].key = 5;
  for (const OpenWindow& window : windows) ASSERT_OK(session->OpenWindow(window));
  for (uint32_t w = 0; w < 3; ++w) {
    ASSERT_OK(session->Fetch(FetchImages(windows[w], 2 * w, 0, 7)));
    ASSERT_OK(session->Fetch(FetchImages(windows[w], 2 * w + 1, 7, kRecords - 7)));
    ASSERT_TRUE(client.WaitRows(2 * w, 7));
    ASSERT_TRUE(client.WaitRows(2 * w + 1, kRecords - 7));
    std::vector<std::string> rows = client.Rows(2 * w, kImageRowBytes);
    for (std::string& row : client.Rows(2 * w + 1, kImageRowBytes)) rows.push_back(std::move(row));
    for (const std::string& row : rows) {
      const uint64_t record = Load64(reinterpret_cast<const uint8_t*>(row.data()) + kImageBytes);
      EXPECT_TRUE(row == WantedRow(record, windows[w].augmentation_key, record)) << w << record;
    }
  }
}

// Images of more than 10 ms, however few rows fit into that time, come one at a time at first.
TEST_F(ImageRowsTest, LargeImagesCome) {
  for (const size_t bytes : {0, 200 << 10, 1 << 20}) {
    Write({}, bytes);
    Start();
    Recorder client;
    auto session = Open(client, false);
    ASSERT_OK(session->OpenWindow(Window(0)));
    ASSERT_OK(session->Fetch(FetchImages(Window(0), 1, 0, kRecords)));
    ASSERT_TRUE(client.WaitRows(1, kRecords));
    EXPECT_GT(client.order().size(), bytes > 0 ? 1u : 0u) << bytes;
  }
}

// Each image takes more than 10 ms, by its size. The only thread is busy with one of them until the
// other client has its rows.
TEST_F(ImageRowsTest, RowsOfMicrosecondsNeedNotWaitForLargeImages) {
  Write({}, 1 << 20);
  Start(0, /*threads=*/1);
  Recorder heavy, light;
  auto heavy_session = Open(heavy, false);
  auto light_session = Open(light, false, R"(tensor { name: "l" label { feature: "label" } })");
  heavy.BlockParts();
  ASSERT_OK(heavy_session->OpenWindow(Window(0)));
  ASSERT_OK(heavy_session->Fetch(FetchImages(Window(0), 1, 0, kRecords)));
  ASSERT_TRUE(heavy.WaitBlocked());
  EXPECT_TRUE(heavy_session->stats().queued);
  EXPECT_EQ(heavy_session->stats().decoding_jobs, 1u);
  ASSERT_OK(light_session->OpenWindow(Window(0)));
  ASSERT_OK(light_session->Fetch(FetchImages(Window(0), 1, 0, kRecords)));
  EXPECT_TRUE(light.WaitRows(1, kRecords));
  EXPECT_EQ(heavy.order().size(), 1u);
  heavy.UnblockParts();
  EXPECT_TRUE(heavy.WaitRows(1, kRecords));
}

TEST_F(ImageRowsTest, AnUndecodableImageIsAnErrorByDefault) {
  Write({12});
  Start();
  Recorder client;
  auto session = Open(client, false);
  ASSERT_OK(session->OpenWindow(Window(0)));
  ASSERT_OK(session->Fetch(FetchImages(Window(0), 1, 0, kRecords)));
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_THAT(client.errors()[0].status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("shard 'records.tfrecord', chunk at"),
                             HasSubstr("record 2: feature 'jpeg'"))));
}

// The replacement is the next row of the window that can be decoded, cyclically, whichever rows are
// requested.
TEST_F(ImageRowsTest, TheNextRowStandsForAnUndecodableOne) {
  Write({3, 12, 13, 38, 39});
  const auto stands_for = [](size_t i) {
    if (i == 3) return size_t{4};
    if (i == 12 || i == 13) return size_t{14};
    return i >= 38 ? size_t{0} : i;
  };
  for (const uint64_t strip_cache : {uint64_t{0}, uint64_t{8} << 20}) {
    Start(strip_cache);
    Recorder clients[2];
    std::vector<std::unique_ptr<Session>> sessions;
    for (Recorder& client : clients) {
      sessions.push_back(Open(client, true));
      ASSERT_OK(sessions.back()->OpenWindow(Window(0)));
    }
    for (const uint32_t rows : {1, 7, 40}) {
      for (size_t c = 0; c < 2; ++c) {
        std::vector<std::string> got;
        for (uint32_t first = 0; first < kRecords; first += rows) {
          const uint32_t n = std::min<uint32_t>(rows, kRecords - first);
          const uint64_t request = rows * 100 + first;
          ASSERT_OK(sessions[c]->Fetch(FetchImages(Window(0), request, first, n)));
          ASSERT_TRUE(clients[c].WaitRows(request, n));
          for (std::string& row : clients[c].Rows(request, kImageRowBytes)) got.push_back(row);
          for (const ReplacedRow& replaced : clients[c].Replaced(request)) {
            EXPECT_NE(stands_for(replaced.record), replaced.record);
            EXPECT_EQ(replaced.record, first + replaced.row);
            EXPECT_THAT(replaced.why, HasSubstr("feature 'jpeg'"));
          }
        }
        for (size_t i = 0; i < kRecords; ++i) {
          const size_t other = stands_for(i);
          const uint64_t id = other == i ? i : other | kReplacedRecord;
          EXPECT_TRUE(got[i] == WantedRow(other, kKey, id)) << rows << " " << i;
        }
      }
    }
  }
}

// Each part reports which of its own rows were filled, even if it is lent from a block that several
// sessions read.
TEST_F(ImageRowsTest, PartsNoteTheirFilledImages) {
  const std::set<size_t> cut = {3, 12, 13, 38};
  WriteCut(cut);
  constexpr char kFill[] = R"(
tensor { name: "image" image { feature: "jpeg" resize { height: 12 width: 16 } truncated: FILL } })";
  for (const uint64_t strip_cache : {uint64_t{0}, uint64_t{8} << 20}) {
    Start(strip_cache);
    Recorder clients[2];
    std::vector<std::unique_ptr<Session>> sessions;
    for (Recorder& client : clients) {
      sessions.push_back(Open(client, false, kFill));
      ASSERT_OK(sessions.back()->OpenWindow(Window(0)));
    }
    for (Recorder& client : clients) {
      auto& session = sessions[&client - clients];
      std::set<size_t> noted;
      for (uint32_t first = 0; first < kRecords; first += 8) {
        ASSERT_OK(session->Fetch(FetchImages(Window(0), first, first, 8)));
        ASSERT_TRUE(client.WaitRows(first, 8));
        for (const ImageNote& note : client.ImageNotesOf(first)) {
          EXPECT_TRUE(note.truncated);
          EXPECT_TRUE(noted.insert(first + note.row).second);
        }
      }
      EXPECT_EQ(noted, cut) << strip_cache;
    }
  }
}

// The filled image replaces a record that cannot be decoded, and counts each time it is sent.
TEST_F(ImageRowsTest, AFilledImageThatStandsForAnotherIsNoted) {
  std::vector<std::string> payloads;
  for (size_t i = 0; i < kRecords; ++i) payloads.push_back(Payload(Jpeg(i), i));
  payloads[3] = Payload("no image", 3);
  payloads[4] = Payload(Jpeg(4).substr(0, Jpeg(4).size() - 40), 4);
  data_.emplace(folder_.path(), payloads, 10);
  Start();
  Recorder client;
  auto session = Open(client, true, R"(
tensor { name: "image" image { feature: "jpeg" resize { height: 12 width: 16 } truncated: FILL } })");
  ASSERT_OK(session->OpenWindow(Window(0)));
  ASSERT_OK(session->Fetch(FetchImages(Window(0), 1, 0, kRecords)));
  ASSERT_TRUE(client.WaitRows(1, kRecords));
  std::multiset<uint32_t> noted;
  for (const ImageNote& note : client.ImageNotesOf(1)) noted.insert(note.row);
  EXPECT_EQ(noted, (std::multiset<uint32_t>{3, 4}));
}

std::set<size_t> Records(size_t first, size_t end) {
  std::set<size_t> records;
  for (size_t i = first; i < end; ++i) records.insert(i);
  return records;
}

TEST_F(ImageRowsTest, AWindowWithoutADecodableRowNeedsASpare) {
  Write(Records(0, 15));
  Start();
  Recorder client;
  auto session = Open(client, true);
  // The second spare has one good row, its sixth.
  const OpenWindow windows[] = {Window(0, 0, std::nullopt), Window(1, 0, 1), Window(2, 0, 2)};
  for (uint64_t w = 0; w < 3; ++w) {
    ASSERT_OK(session->OpenWindow(windows[w]));
    ASSERT_OK(session->Fetch(FetchImages(windows[w], w, 0, 10)));
  }
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_EQ(client.errors()[0].request, 0u);
  EXPECT_TRUE(client.errors()[0].needs_spare);
  EXPECT_THAT(client.errors()[0].status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no record of the window can be")));
  for (const auto& [request, record] : {std::pair<uint64_t, size_t>{1, 15}, {2, 20}}) {
    ASSERT_TRUE(client.WaitRows(request, 10));
    for (const std::string& row : client.Rows(request, kImageRowBytes)) {
      EXPECT_TRUE(row == WantedRow(record, kKey, record | kReplacedRecord)) << request;
    }
  }
}

// The first image, with a header that says 8000 x 8000 pixels.
std::string HugeJpeg() {
  std::string jpeg = Jpeg(0);
  const size_t frame = jpeg.find("\xff\xc0");
  EXPECT_NE(frame, std::string::npos);
  for (const size_t at : {frame + 5, frame + 7}) {
    jpeg[at] = static_cast<char>(8000 >> 8);
    jpeg[at + 1] = static_cast<char>(8000 & 0xff);
  }
  return jpeg;
}

// This is a fact about this server. Others may have the memory, so the row is not replaced.
TEST_F(ImageRowsTest, AnImageBeyondTheServersMemoryIsNoDamage) {
  data_.emplace(folder_.path(),
                std::vector<std::string>{Payload(Jpeg(1), 0), Payload(HugeJpeg(), 1)}, 10);
  Start();
  Recorder client;
  auto session = Open(client, true);
  ASSERT_OK(session->OpenWindow(Window(0)));
  ASSERT_OK(session->Fetch(FetchImages(Window(0), 1, 0, 2)));
  ASSERT_TRUE(client.WaitErrors(1));
  EXPECT_THAT(client.errors()[0].status,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("record 1: feature 'jpeg': decoding the image takes"),
                             HasSubstr("this server has 16.0 MiB for images"))));
  EXPECT_FALSE(client.errors()[0].needs_spare);
}

TEST_F(ImageRowsTest, ListedDamageAndUndecodableImagesMix) {
  Write({5});
  Start();
  Recorder client;
  auto session = Open(client, true);
  OpenWindow window = Window(0);
  window.damaged = {{.chunk = 0, .record = 4}};  // Record 5 replaces it, but cannot be decoded.
  ASSERT_OK(session->OpenWindow(window));
  ASSERT_OK(session->Fetch(FetchImages(window, 1, 0, kRecords)));
  ASSERT_TRUE(client.WaitRows(1, kRecords));
  const std::vector<std::string> rows = client.Rows(1, kImageRowBytes);
  for (const size_t i : {4, 5}) {
    EXPECT_TRUE(rows[i] == WantedRow(6, kKey, 6 | kReplacedRecord)) << i;
  }
}

}  // namespace
}  // namespace penstock
