#include "records/wire/client_message.h"

#include <functional>

#include "gmock/gmock.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "gtest/gtest.h"
#include "proto/pieces.pb.h"
#include "tests/status_matchers.h"

namespace penstock::wire {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<ClientMessage> ParseClient(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  return ParseClientMessage(input);
}

OpenWindow TwoChunks() {
  OpenWindow window;
  window.window = 7;
  window.shards = {
      {.path = "a/x.tfrecord", .container = Container::kZstd, .size = 1000, .label = 3}};
  window.chunks = {{.shard = 0,
                    .offset = 16,
                    .size = 100,
                    .raw_size = 300,
                    .records = 4,
                    .holdout = 1,
                    .crc32c = 0xdeadbeef,
                    .ordinal = uint64_t{1} << 40},
                   {.shard = 0, .offset = 116, .size = 50, .raw_size = 60, .records = 2}};
  window.split = Split::kTrain;
  window.shuffle = true;
  window.key = 0x0123456789abcdef;
  window.rows = 5;
  window.needed_at = 99;
  window.augmentation_key = 0xfedcba9876543210;
  window.damaged = {{.chunk = 1, .record = 1, .rest_of_chunk = true}, {.chunk = 0, .record = 3}};
  return window;
}

// The status of ParseClient() for a valid OpenWindow that `damage` has changed.
absl::Status ParseDamaged(const std::function<void(v1::OpenWindow&)>& damage) {
  v1::ClientMessage message;
  EXPECT_TRUE(message.ParseFromString(Encode(TwoChunks())));
  damage(*message.mutable_open_window());
  return ParseClient(message.SerializeAsString()).status();
}

TEST(ClientMessageTest, HelloSurvivesTheWire) {
  ClientHello hello{.protocol_version = 2, .options = {}};
  hello.options.spec.add_tensor()->set_name("planes");
  hello.options.record_ids = true;
  hello.options.holdout_feature = "d";
  hello.options.holdout_threshold = 12345;
  hello.options.client = "rank \xff";
  hello.options.checksums = true;
  hello.options.replace_undecodable = true;
  ASSERT_OK_AND_ASSIGN(ClientMessage parsed, ParseClient(Encode(hello)));
  const auto& out = std::get<ClientHello>(parsed);
  EXPECT_EQ(out.protocol_version, 2u);
  EXPECT_EQ(out.options.spec.SerializeAsString(), hello.options.spec.SerializeAsString());
  EXPECT_TRUE(out.options.record_ids);
  EXPECT_EQ(out.options.holdout_feature, "d");
  EXPECT_EQ(out.options.holdout_threshold, 12345u);
  EXPECT_EQ(out.options.client, "rank \xff");
  EXPECT_TRUE(out.options.checksums);
  EXPECT_TRUE(out.options.replace_undecodable);
}

// A client must request the lowest version, so that servers of all versions serve chess.
TEST(ClientMessageTest, AHelloSaysTheFirstVersionThatHasWhatItNeeds) {
  StreamOptions options;
  options.spec.add_tensor()->mutable_bits()->set_feature("d");
  options.holdout_feature = "d";
  options.holdout_threshold = 1000;
  EXPECT_EQ(ProtocolVersionOf(options), 1u);
  StreamOptions images = options, replaces = options, by_payload = options;
  StreamOptions by_numbers = options, tars = options;
  images.spec.add_tensor()->mutable_image()->set_feature("image");
  EXPECT_EQ(ProtocolVersionOf(images), 2u);
  replaces.replace_undecodable = true;
  EXPECT_EQ(ProtocolVersionOf(replaces), 2u);
  by_payload.holdout_feature.clear();
  EXPECT_EQ(ProtocolVersionOf(by_payload), 2u);
  by_numbers.holdout_by_one_value = false;
  EXPECT_EQ(ProtocolVersionOf(by_numbers), 2u);
  tars.only_frames = false;
  EXPECT_EQ(ProtocolVersionOf(tars), 3u);
  by_numbers.holdout_threshold = 0;
  EXPECT_EQ(ProtocolVersionOf(by_numbers), 1u);
}

TEST(ClientMessageTest, OpenWindowSurvivesTheWire) {
  ASSERT_OK_AND_ASSIGN(ClientMessage parsed, ParseClient(Encode(TwoChunks())));
  const auto& out = std::get<OpenWindow>(parsed);
  EXPECT_EQ(out.window, 7u);
  EXPECT_EQ(out.shards[0].path, "a/x.tfrecord");
  EXPECT_EQ(out.shards[0].container, Container::kZstd);
  EXPECT_EQ(out.chunks[0].crc32c, 0xdeadbeef);
  EXPECT_EQ(out.chunks[0].ordinal, uint64_t{1} << 40);
  EXPECT_EQ(out.chunks[1].raw_size, 60u);
  EXPECT_EQ(out.split, Split::kTrain);
  EXPECT_EQ(out.key, 0x0123456789abcdefu);
  EXPECT_EQ(out.augmentation_key, 0xfedcba9876543210u);
  EXPECT_EQ(out.damaged, TwoChunks().damaged);
  // Compares every field, also those that are not named above.
  EXPECT_EQ(Encode(out), Encode(TwoChunks()));
}

// Returns TwoChunks() with a spare in its own shard, two of whose records are damaged.
OpenWindow WithSpare() {
  OpenWindow window = TwoChunks();
  window.shards.push_back({.path = "b/y.tfrecord", .size = 500});
  window.chunks.push_back(
      {.shard = 1, .offset = 8, .size = 90, .raw_size = 90, .records = 3, .ordinal = 70});
  window.has_spare = true;
  window.damaged.push_back({.chunk = 2, .record = 0});
  window.damaged.push_back({.chunk = 2, .record = 2, .rest_of_chunk = true});
  return window;
}

TEST(ClientMessageTest, ASpareSurvivesTheWire) {
  ASSERT_OK_AND_ASSIGN(ClientMessage parsed, ParseClient(Encode(WithSpare())));
  const auto& out = std::get<OpenWindow>(parsed);
  EXPECT_TRUE(out.has_spare);
  ASSERT_EQ(out.chunks.size(), 3u);
  EXPECT_EQ(out.chunks[2].ordinal, 70u);
  EXPECT_EQ(out.damaged, WithSpare().damaged);
  EXPECT_EQ(Encode(out), Encode(WithSpare()));
}

// An older server skips the new fields. It must then see a valid window.
TEST(ClientMessageTest, ASpareIsNotAmongTheChunks) {
  v1::ClientMessage message;
  ASSERT_TRUE(message.ParseFromString(Encode(WithSpare())));
  EXPECT_EQ(message.open_window().chunk_size(), 2);
  EXPECT_EQ(message.open_window().damaged_size(), 2);
}

TEST(ClientMessageTest, RefusesASpareThatCannotBe) {
  EXPECT_THAT(ParseDamaged([](auto& w) { w.mutable_spare()->set_shard(1); }),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("refers to shard 1, but the window has 1 shards")));
  EXPECT_THAT(
      ParseDamaged([](auto& w) { w.add_spare_damaged(); }),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lists damaged records of a spare")));
  EXPECT_THAT(ParseDamaged([](auto& w) {
                w.mutable_spare()->set_shard(0);
                w.add_damaged()->set_chunk(2);
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("chunk 2")));
}

TEST(ClientMessageTest, ASpareMayBeOneChunkAndShardMore) {
  const auto grow = [](auto& w) {
    while (w.shard_size() < kMaxChunksPerWindow + 1) w.add_shard()->set_path("x");
    while (w.chunk_size() < kMaxChunksPerWindow) w.add_chunk();
    w.mutable_spare()->set_shard(kMaxChunksPerWindow);
  };
  EXPECT_OK(ParseDamaged(grow));
  EXPECT_THAT(ParseDamaged([&](auto& w) {
                grow(w);
                w.clear_spare();
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4097 shards")));
}

TEST(ClientMessageTest, FetchCancelAndReleaseSurviveTheWire) {
  Fetch fetch{.request = 1,
              .window = 2,
              .first_row = 3,
              .rows = 4,
              .stride = 5,
              .count = 6,
              .dtype = WireDtype::kF64,
              .needed_at = 7};
  ASSERT_OK_AND_ASSIGN(ClientMessage parsed, ParseClient(Encode(fetch)));
  EXPECT_EQ(std::get<Fetch>(parsed).dtype, WireDtype::kF64);
  EXPECT_EQ(Encode(parsed), Encode(fetch));
  ASSERT_OK_AND_ASSIGN(parsed, ParseClient(Encode(Cancel{8})));
  EXPECT_EQ(std::get<Cancel>(parsed).request, 8u);
  ASSERT_OK_AND_ASSIGN(parsed, ParseClient(Encode(Release{9})));
  EXPECT_EQ(std::get<Release>(parsed).window, 9u);
}

TEST(ClientMessageTest, SharedMemorySurvivesTheWire) {
  ASSERT_OK_AND_ASSIGN(ClientMessage parsed, ParseClient(Encode(Ack{uint64_t{1} << 33})));
  EXPECT_EQ(std::get<Ack>(parsed).offset, uint64_t{1} << 33);
  ASSERT_OK_AND_ASSIGN(parsed, ParseClient(Encode(SharedMemoryMapped{})));
  EXPECT_TRUE(std::holds_alternative<SharedMemoryMapped>(parsed));
}

TEST(ClientMessageTest, RefusesUnknownEnumValues) {
  EXPECT_THAT(ParseDamaged([](auto& w) { w.set_split(static_cast<v1::Split>(3)); }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("split 3")));
  EXPECT_THAT(ParseDamaged([](auto& w) {
                w.mutable_shard(0)->set_container(static_cast<v1::Container>(-1));
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("container -1")));
}

TEST(ClientMessageTest, RefusesUnknownDtypes) {
  for (int dtype : {0, 6, -1, 256}) {
    v1::ClientMessage message;
    message.mutable_fetch()->set_dtype(static_cast<v1::PieceDtype>(dtype));
    EXPECT_THAT(ParseClient(message.SerializeAsString()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dtype")));
  }
}

TEST(ClientMessageTest, RefusesChunkOfAnUnlistedShard) {
  EXPECT_THAT(ParseDamaged([](auto& w) { w.mutable_chunk(1)->set_shard(1); }),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("refers to shard 1, but the window has 1 shards")));
}

TEST(ClientMessageTest, RefusesTooManyChunks) {
  auto grow = [](auto& w) {
    while (w.chunk_size() <= kMaxChunksPerWindow) w.add_chunk();
  };
  EXPECT_THAT(ParseDamaged(grow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4097 chunks")));
}

TEST(ClientMessageTest, RefusesTooManyDamagedRecords) {
  auto grow = [](auto& w) {
    while (w.damaged_size() <= kMaxDamagedRecords) w.add_damaged();
  };
  EXPECT_THAT(ParseDamaged(grow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4097 damaged")));
  EXPECT_THAT(ParseDamaged([](auto& w) {
                w.mutable_spare()->set_shard(0);
                while (w.damaged_size() < kMaxDamagedRecords) w.add_damaged();
                w.add_spare_damaged();
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4097 damaged")));
}

TEST(ClientMessageTest, RefusesLongNames) {
  EXPECT_THAT(ParseDamaged([](auto& w) { w.mutable_shard(0)->set_path(std::string(5000, 'x')); }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("5000")));
  ClientHello hello;
  hello.options.client = std::string(300, 'x');
  EXPECT_THAT(ParseClient(Encode(hello)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("300 bytes")));
}

TEST(ClientMessageTest, RefusesASpecOfTooManyTensors) {
  ClientHello hello;
  while (hello.options.spec.tensor_size() < kMaxTensors) hello.options.spec.add_tensor();
  EXPECT_OK(ParseClient(Encode(hello)));
  hello.options.spec.add_tensor();
  EXPECT_THAT(ParseClient(Encode(hello)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1025 tensors")));
}

TEST(ClientMessageTest, RefusesEmptyInputAndUnknownMessages) {
  EXPECT_THAT(ParseClient(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without")));
  // Field 15, a number: a field that a newer client might send.
  EXPECT_THAT(ParseClient("\x78\x01"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("know")));
}

TEST(ClientMessageTest, SurvivesTruncationAtEveryByte) {
  std::string bytes = Encode(WithSpare());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseClient(bytes.substr(0, size)).ok()) << size;
  }
}

TEST(ClientMessageTest, SurvivesEveryFlippedBit) {
  std::string bytes = Encode(WithSpare());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    absl::StatusOr<ClientMessage> parsed = ParseClient(damaged);
    if (parsed.ok()) continue;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace penstock::wire
