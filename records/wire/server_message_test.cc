#include "records/wire/server_message.h"

#include "gmock/gmock.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "gtest/gtest.h"
#include "proto/pieces.pb.h"
#include "tests/status_matchers.h"

namespace penstock::wire {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<ServerMessage> ParseServer(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  return ParseServerMessage(input);
}

StreamError DamagedRecord() {
  return {.request = 5,
          .window = std::nullopt,
          .status = absl::DataLossError("x.tfrecord: chunk at 16: record 3: payload CRC"),
          .damage = Damage{
              .shard = "x.tfrecord", .chunk_offset = 16, .record = 3, .rest_of_chunk = true}};
}

TEST(ServerMessageTest, HelloSurvivesTheWire) {
  ServerInfo info{.instance = ~uint64_t{0},
                  .cores = 2,
                  .decoder_version = 3,
                  .spec_fingerprint = 4,
                  .memory_budget = 5};
  ASSERT_OK_AND_ASSIGN(ServerMessage parsed,
                       ParseServer(Encode(ServerHello{
                           .info = info, .shm_socket = "/run/p\xff.sock", .shm_ticket = "t1"})));
  const auto& hello = std::get<ServerHello>(parsed);
  EXPECT_EQ(hello.protocol_version, kProtocolVersion);
  EXPECT_EQ(hello.info.instance, ~uint64_t{0});
  EXPECT_EQ(hello.info.cores, 2u);
  EXPECT_EQ(hello.info.decoder_version, 3u);
  EXPECT_EQ(hello.info.spec_fingerprint, 4u);
  EXPECT_EQ(hello.info.memory_budget, 5u);
  EXPECT_EQ(hello.shm_socket, "/run/p\xff.sock");
  EXPECT_EQ(hello.shm_ticket, "t1");
}

TEST(ServerMessageTest, ErrorKeepsStatusAndDamage) {
  ASSERT_OK_AND_ASSIGN(ServerMessage parsed, ParseServer(Encode(DamagedRecord())));
  const auto& error = std::get<StreamError>(parsed);
  EXPECT_EQ(error.request, 5u);
  EXPECT_EQ(error.window, std::nullopt);
  EXPECT_EQ(error.status, DamagedRecord().status);
  ASSERT_TRUE(error.damage.has_value());
  EXPECT_EQ(error.damage->record, 3u);
  EXPECT_TRUE(error.damage->rest_of_chunk);
}

TEST(ServerMessageTest, ErrorKeepsThatASpareIsNeeded) {
  StreamError error{.request = std::nullopt,
                    .window = 4,
                    .status = absl::DataLossError("every record is damaged"),
                    .damage = std::nullopt,
                    .needs_spare = true};
  ASSERT_OK_AND_ASSIGN(ServerMessage parsed, ParseServer(Encode(error)));
  EXPECT_TRUE(std::get<StreamError>(parsed).needs_spare);
  ASSERT_OK_AND_ASSIGN(parsed, ParseServer(Encode(DamagedRecord())));
  EXPECT_FALSE(std::get<StreamError>(parsed).needs_spare);
}

TEST(ServerMessageTest, ErrorOfRequestZeroIsNotOneOfNothing) {
  StreamError error{.request = 0,
                    .window = std::nullopt,
                    .status = absl::InternalError("x"),
                    .damage = std::nullopt};
  ASSERT_OK_AND_ASSIGN(ServerMessage parsed, ParseServer(Encode(error)));
  EXPECT_EQ(std::get<StreamError>(parsed).request, 0u);
}

TEST(ServerMessageTest, SmallMessagesSurviveTheWire) {
  ASSERT_OK_AND_ASSIGN(ServerMessage parsed, ParseServer(Encode(WindowReady{1, 2})));
  EXPECT_EQ(std::get<WindowReady>(parsed).read_bytes, 2u);
  ASSERT_OK_AND_ASSIGN(parsed, ParseServer(Encode(Credit{uint64_t{1} << 33})));
  EXPECT_EQ(std::get<Credit>(parsed).bytes, uint64_t{1} << 33);
  EXPECT_FALSE(std::get<Credit>(parsed).working);
  ASSERT_OK_AND_ASSIGN(parsed, ParseServer(Encode(Credit{1, true})));
  EXPECT_TRUE(std::get<Credit>(parsed).working);
  ASSERT_OK_AND_ASSIGN(parsed, ParseServer(Encode(Draining{30000})));
  EXPECT_EQ(std::get<Draining>(parsed).grace_ms, 30000u);
}

TEST(ServerMessageTest, RefusesErrorsThatSayNothing) {
  for (uint32_t code : {0, 17, 1000}) {
    v1::ServerMessage message;
    message.mutable_error()->set_request(1);
    message.mutable_error()->set_code(code);
    EXPECT_THAT(ParseServer(message.SerializeAsString()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("code")));
  }
  v1::ServerMessage message;
  message.mutable_error()->set_code(3);
  EXPECT_THAT(ParseServer(message.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("neither")));
}

TEST(ServerMessageTest, RefusesEmptyInputPartsAndUnknownMessages) {
  EXPECT_THAT(ParseServer(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without")));
  EXPECT_THAT(ParseServer("\x78\x01"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("know")));
  v1::ServerMessage message;
  message.mutable_part()->set_data("x");
  EXPECT_THAT(ParseServer(message.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Part")));
}

TEST(ServerMessageTest, SurvivesTruncationAtEveryByte) {
  std::string bytes = Encode(DamagedRecord());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseServer(bytes.substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace penstock::wire
