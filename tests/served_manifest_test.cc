// Tests a manifest from real servers, and reads data with it.
#include "client/loader/served_manifest.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/io/unique_fd.h"
#include "base/status.h"
#include "client/loader/testing/batch_digest.h"
#include "client/loader/testing/chess_dataset.h"
#include "client/transport/grpc/manifest_call.h"
#include "gmock/gmock.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/pieces.grpc.pb.h"
#include "server/server.h"
#include "tests/status_matchers.h"
#include "tests/test_certificates.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Accepts connections into its backlog and says nothing. Has a loopback port of its own.
class SilentPort {
 public:
  SilentPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_.get(), 8), 0);
    EXPECT_EQ(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  const UniqueFd fd_;
  uint16_t port_ = 0;
};

// A server whose data is in a folder of its root.
class ServedManifestTest : public ::testing::Test {
 protected:
  ServedManifestTest() {
    std::filesystem::rename(data_.folder(), folder_.File("root"));
    std::filesystem::create_directories(data_.folder());
    std::filesystem::rename(folder_.File("root"), data_.folder() + "/games");
    EXPECT_OK(data_.manifest()->Save(data_.folder() + "/games/manifest.pb"));
    server_options_.listen = "127.0.0.1:0";
    server_options_.data_root = data_.folder();
    server_options_.threads = 2;
    server_options_.memory_budget = uint64_t{64} << 20;
  }
  void StartServer() {
    ASSERT_OK_AND_ASSIGN(server_, Server::Start(server_options_));
    options_ = data_.Options();
    options_.manifest = nullptr;
    options_.servers = server_->address();
  }
  // Returns the rows of an epoch of the manifest `name`.
  absl::StatusOr<std::string> Read(const std::string& name) {
    LoaderOptions options = options_;
    PENSTOCK_ASSIGN_OR_RETURN(options.manifest, FetchManifest(name, options));
    PENSTOCK_ASSIGN_OR_RETURN(auto loader, Loader::Open(options));
    BatchDigest digest;
    for (Batch batch;;) {
      PENSTOCK_ASSIGN_OR_RETURN(const bool more, loader->Next(batch));
      if (!more) return digest.Hex();
      digest.Add(batch);
    }
  }
  std::string Planned() const { return data_.Digest(data_.Order(options_.plan), options_.dtype); }
  absl::Status Fetch(const std::string& name) { return FetchManifest(name, options_).status(); }

  TempFolder folder_;
  ChessDataset data_;
  ServerOptions server_options_;
  std::unique_ptr<Server> server_;
  LoaderOptions options_;
};

TEST_F(ServedManifestTest, ItsShardsAreWhereItLies) {
  StartServer();
  EXPECT_THAT(Read("server:games/manifest.pb"), IsOkAndHolds(Planned()));
  EXPECT_THAT(Read("server:games/"), IsOkAndHolds(Planned()));
  std::string told;
  options_.report = [&told](absl::string_view line) { told = std::string(line); };
  ASSERT_OK_AND_ASSIGN(const auto manifest, FetchManifest("server:games/", options_));
  EXPECT_EQ(manifest->shards()[0].path, "games/shard-0.tfrecord");
  // Earlier attempts that failed, as on a loaded machine, are reported after this.
  EXPECT_THAT(told, StartsWith(absl::StrCat("server:games/ came from ", server_->address())));
}

TEST_F(ServedManifestTest, PathsThatAreNotThereOrLeadOutNameServerAndCause) {
  StartServer();
  folder_.Write("outside.pb", "secret");
  std::filesystem::create_symlink(folder_.File("outside.pb"), data_.folder() + "/link.pb");
  EXPECT_THAT(Fetch("server:manifest.pb"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(server_->address()), HasSubstr("manifest.pb: No such"))));
  EXPECT_THAT(Fetch("server:m\xff.pb"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("m\xff.pb: No such")));
  EXPECT_THAT(Fetch("server:../outside.pb"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(server_->address())));
  EXPECT_THAT(Fetch("server:link.pb"), StatusIs(absl::StatusCode::kPermissionDenied,
                                                HasSubstr("leads out of the data root")));
  EXPECT_THAT(Fetch("server:games"), StatusIs(absl::StatusCode::kInvalidArgument, testing::_));
}

TEST_F(ServedManifestTest, WhatIsNoManifestIsRefused) {
  StartServer();
  EXPECT_THAT(Fetch("server:games/shard-0.tfrecord"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(server_->address()), HasSubstr("not a Penstock manifest"))));
}

TEST_F(ServedManifestTest, TokensAndTheirFoldersHold) {
  server_options_.token_file =
      folder_.Write("tokens", "0123456789-games games\n0123456789-other other\n");
  StartServer();
  EXPECT_THAT(Fetch("server:games/"),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("bearer token")));
  options_.network.token_file = folder_.Write("token", "0123456789-other\n");
  EXPECT_THAT(Fetch("server:games/"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("limited to other folders")));
  folder_.Write("token", "0123456789-games\n");
  EXPECT_THAT(Read("server:games/"), IsOkAndHolds(Planned()));
}

TEST_F(ServedManifestTest, TlsIsSpokenAsForStreams) {
  TestAuthority ca(folder_.path(), "ca");
  ca.Issue("server", "IP:127.0.0.1");
  server_options_.tls_cert = ca.cert("server");
  server_options_.tls_key = ca.key("server");
  StartServer();
  // A server on a loaded machine may not answer in time to show that it speaks TLS.
  absl::Status plaintext;
  for (options_.server_timeout = absl::Milliseconds(1); options_.server_timeout < absl::Minutes(5);
       options_.server_timeout *= 10) {
    plaintext = Fetch("server:games/");
    if (absl::StrContains(plaintext.message(), "the server speaks TLS")) break;
  }
  EXPECT_THAT(plaintext,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the server speaks TLS")));
  options_.server_timeout = absl::Seconds(60);
  options_.network.tls.emplace().ca_file = ca.cert("ca");
  EXPECT_THAT(Read("server:games/"), IsOkAndHolds(Planned()));
}

TEST_F(ServedManifestTest, AFileThatIsTooLongIsNotTaken) {
  StartServer();
  EXPECT_THAT(CallForManifest(server_->address(), {}, "games/manifest.pb", {.max_bytes = 100}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr(server_->address()), HasSubstr("more than 100 B"))));
}

// Answers every call for a manifest with `head` and then zeros, as long as they are read.
class ForgedServer final : private v1::PieceService::Service {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{128} << 20;

  explicit ForgedServer(std::string head) : head_(std::move(head)) {
    int port = 0;
    server_ = grpc::ServerBuilder()
                  .AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port)
                  .RegisterService(this)
                  .BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~ForgedServer() override { End(); }
  const std::string& address() const { return address_; }
  // Ends the server. Returns the number of bytes that were sent.
  uint64_t End() {
    server_->Shutdown();
    return sent_;
  }

 private:
  grpc::Status Manifest(grpc::ServerContext*, const v1::ManifestRequest*,
                        grpc::ServerWriter<v1::ManifestPart>* out) override {
    v1::ManifestPart part;
    for (part.set_data(head_); sent_ < kMostBytes && out->Write(part);) {
      sent_ += part.data().size();
      part.set_data(std::string(1 << 20, '\0'));
    }
    return grpc::Status::OK;
  }

  const std::string head_;
  std::atomic<uint64_t> sent_{0};
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// Returns a manifest's header with this version, which claims a payload of `size` bytes.
std::string Header(uint32_t version, uint64_t size) {
  std::string header = "PNSTKM\x1a\n";
  header.append(reinterpret_cast<const char*>(&version), sizeof version);
  header.append(4, '\0');
  return header.append(reinterpret_cast<const char*>(&size), sizeof size);
}

TEST_F(ServedManifestTest, AForgedManifestCostsNoMoreThanItsFirstPieces) {
  using Code = absl::StatusCode;
  const std::vector<std::tuple<std::string, Code, std::string>> cases = {
      {"", Code::kInvalidArgument, "is not a Penstock manifest"},
      {"PNSTKM", Code::kInvalidArgument, "is not a Penstock manifest"},
      {Header(1, 100), Code::kDataLoss, "more than the 124 bytes"},
      {Header(1, 2'000'000'000), Code::kOutOfRange, "more than 1.0 GiB"},
      {Header(1, uint64_t{1} << 62), Code::kDataLoss, "the manifest is damaged"},
      {Header(7, 100), Code::kFailedPrecondition, "has version 7"}};
  options_ = data_.Options();
  for (const auto& [head, code, why] : cases) {
    ForgedServer forged(head);
    options_.servers = forged.address();
    EXPECT_THAT(Fetch("server:m.pb"),
                StatusIs(code, AllOf(HasSubstr(forged.address()), HasSubstr(why))));
    EXPECT_LT(forged.End(), ForgedServer::kMostBytes / 2) << why;  // Connections buffer this much.
  }
}

TEST_F(ServedManifestTest, AServerThatKeepsSilentIsLeft) {
  const SilentPort silent;
  EXPECT_THAT(CallForManifest(silent.address(), {}, "m.pb", {.silence = absl::Milliseconds(200)}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(silent.address()), HasSubstr("sends nothing"))));
}

// The second check is during the call, or after it has failed.
TEST_F(ServedManifestTest, ACallEndsWhenItIsToldTo) {
  const SilentPort silent;
  for (const int in_time : {0, 1}) {
    int asked = 0;
    const auto check = [&] {
      return asked++ < in_time ? absl::OkStatus() : absl::CancelledError("interrupted");
    };
    EXPECT_THAT(CallForManifest(silent.address(), {}, "m.pb",
                                {.silence = absl::InfiniteDuration(), .check = check}),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
    EXPECT_EQ(asked, in_time + 1);
  }
}

}  // namespace
}  // namespace penstock
