// Measures the service on loopback beside its ceiling: a client fetches rows and copies them once,
// compared with a raw gRPC stream of the same message size. Prints JSON.
//
//   service_speed [--records N] [--mib MIB] [--request-kib KIB] [--mutual-tls]
//
// --request-kib is the size of a request and of the part that answers it
// (docs/internals/adr/2026-11-21-requests-of-a-mebibyte.md). --mutual-tls measures each dtype again
// with certificates on both sides. One process serves and reads, so both sides share its cores. The
// data is random chess-like records in a temporary folder. The server reads them once from the page
// cache and then holds them in memory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/bounded_queue.h"
#include "base/flags/command_line.h"
#include "base/mutex.h"
#include "base/process/keep_freed_memory.h"
#include "bench/raw_grpc_stream.h"
#include "client/transport/grpc/grpc_transport.h"
#include "nlohmann/json.hpp"
#include "records/engine/testing/chess_data.h"
#include "server/log.h"
#include "server/server.h"
#include "tests/temp_folder.h"
#include "tests/test_certificates.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Fetches windows again and again, kInFlight requests at a time, until enough rows have arrived.
class FetchingClient final : public StreamEvents {
 public:
  FetchingClient(Transport& transport, const ChessData& data, WireDtype dtype,
                 uint32_t rows_per_fetch, uint64_t rows)
      : dtype_(dtype), rows_per_fetch_(rows_per_fetch), rows_wanted_(rows) {
    for (size_t c = 0; c + kChunks <= data.chunks().size(); c += kChunks) {
      std::vector<size_t> chunks(kChunks);
      for (size_t i = 0; i < kChunks; ++i) chunks[i] = c + i;
      windows_.push_back(data.Window(windows_.size() + 1, chunks, Split::kAll, true, c));
    }
    stream_ = transport.Connect(data.Stream(), *this);
    for (const OpenWindow& window : windows_) stream_->OpenWindow(window);
  }
  nlohmann::json Wait() {
    (void)finished_.Pop();
    if (!finished_.status().ok()) return {{"error", finished_.status().ToString()}};
    double seconds = std::chrono::duration<double>(end_ - begin_).count();
    auto rows = static_cast<double>(rows_seen_);
    return {{"positions_per_second", rows / seconds},
            {"bytes_per_second", static_cast<double>(bytes_seen_) / seconds},
            {"cpu_seconds_per_million_positions", (cpu_end_ - cpu_begin_) / rows * 1e6}};
  }

 private:
  static constexpr size_t kChunks = 16;
  static constexpr size_t kInFlight = 32;

  void OnEvent(StreamEvent event) override {
    if (const auto* error = std::get_if<StreamError>(&event)) finished_.Close(error->status);
    if (const auto* broken = std::get_if<StreamBroken>(&event)) finished_.Close(broken->status);
    if (std::holds_alternative<WindowReady>(event)) CountReady();
  }
  // The clock starts when every window is in memory.
  void CountReady() {
    if (++windows_ready_ < windows_.size()) return;
    cpu_begin_ = CpuSeconds();
    begin_ = Clock::now();
    for (size_t place = 0; place < kInFlight; ++place) FetchNext(place);
  }
  void OnPart(ReceivedPart part) override {
    MutexLock lock(&mutex_);
    slot_.resize(std::max(slot_.size(), part.payload->size()));
    part.payload->CopyTo(0, {slot_.data(), part.payload->size()});
    bytes_seen_ += part.payload->size();
    rows_seen_ += part.rows;
    size_t place = part.request % kInFlight;
    rows_left_[place] -= part.rows;
    if (rows_left_[place] > 0 || rows_seen_ - part.rows >= rows_wanted_) return;
    if (rows_seen_ < rows_wanted_) return FetchNext(place);
    end_ = Clock::now();
    cpu_end_ = CpuSeconds();
    finished_.Close();
  }

  // The request numbers of one place are equal modulo kInFlight.
  void FetchNext(size_t place) {
    const OpenWindow& window = windows_[next_ % windows_.size()];
    uint32_t rows = std::min(rows_per_fetch_, window.rows);
    uint64_t turn = next_ / windows_.size();
    rows_left_[place] = rows;
    stream_->Fetch({.request = next_ * kInFlight + place,
                    .window = window.window,
                    .first_row = static_cast<uint32_t>(turn % (window.rows / rows)) * rows,
                    .rows = rows,
                    .dtype = dtype_,
                    .needed_at = next_});
    ++next_;
  }

  const WireDtype dtype_;
  const uint32_t rows_per_fetch_;
  const uint64_t rows_wanted_;
  std::vector<OpenWindow> windows_;
  BoundedQueue<int> finished_{1};

  Mutex mutex_;  // OnPart() holds it for the members below. It may run on several threads.
  std::vector<uint8_t> slot_;
  size_t windows_ready_ = 0;
  uint64_t next_ = 0;
  uint64_t rows_left_[kInFlight] = {};
  uint64_t rows_seen_ = 0;
  uint64_t bytes_seen_ = 0;
  double cpu_begin_ = 0;
  double cpu_end_ = 0;
  Clock::time_point begin_;
  Clock::time_point end_;
  std::unique_ptr<Stream> stream_;  // Last member: its events use all members above.
};

struct Volume {
  uint64_t total_bytes = 0;
  uint64_t request_bytes = 0;
};

absl::StatusOr<nlohmann::json> Measure(const ChessData& data, const std::string& folder,
                                       WireDtype dtype, const Volume& volume,
                                       const TestAuthority* authority = nullptr) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.data_root = folder;
  options.memory_budget = uint64_t{2} << 30;
  NetworkOptions network;
  if (authority != nullptr) {
    options.tls_cert = authority->cert("server");
    options.tls_key = authority->key("server");
    options.tls_client_ca = authority->cert();
    network.tls = TlsOptions{.ca_file = authority->cert(),
                             .cert_file = authority->cert("client"),
                             .key_file = authority->key("client"),
                             .server_name = ""};
  }
  auto server = Server::Start(options);
  if (!server.ok()) return server.status();
  auto program = Program::Compile(data.Stream().spec, dtype);
  if (!program.ok()) return program.status();
  size_t row_bytes = 0;
  for (const TensorInfo& tensor : program->tensors()) row_bytes += tensor.row_bytes;
  const uint64_t rows_per_fetch = std::max<uint64_t>(volume.request_bytes / row_bytes, 1);
  auto transport = MakeGrpcTransport((*server)->address(), network);
  FetchingClient client(*transport, data, dtype, static_cast<uint32_t>(rows_per_fetch),
                        volume.total_bytes / row_bytes);
  return client.Wait();
}

int Main(int argc, char** argv) {
  KeepFreedMemory();
  CLI::App app("Rows over gRPC beside a raw gRPC stream, on loopback.", "service_speed");
  uint32_t records = 300'000;
  uint64_t mib = 4096;
  app.option_defaults()->always_capture_default();
  app.add_option("--records", records, "Records in the data set");
  app.add_option("--mib", mib, "MiB that each measurement moves");
  uint64_t request_kib = 1000;
  app.add_option("--request-kib", request_kib, "KiB that a request asks for")
      ->check(CLI::Range(1, 1024));
  bool mutual_tls = false;
  app.add_flag("--mutual-tls", mutual_tls, "Measure each dtype with mutual TLS too");
  if (const auto code = ParseCommandLine(app, "service_speed", argc, argv)) return *code;
  SetUpLog("error", LogFormat::kText);

  constexpr uint32_t kRecordsPerChunk = 1071;  // These records have 256 KiB.
  TempFolder folder;
  ChessData data(folder.path(), {.shards = 1,
                                 .chunks_per_shard = std::max(16u, records / kRecordsPerChunk),
                                 .records_per_chunk = kRecordsPerChunk});
  nlohmann::json report;
  absl::StatusOr<double> ceiling =
      MeasureRawGrpcStream({.message_bytes = request_kib << 10, .total_bytes = mib << 20});
  if (ceiling.ok()) report["raw_grpc_stream"]["bytes_per_second"] = *ceiling;
  TempFolder certificates;
  TestAuthority authority(certificates.path(), "ca");
  authority.Issue("server", "IP:127.0.0.1");
  authority.Issue("client", "DNS:client");
  for (WireDtype dtype : {WireDtype::kI8, WireDtype::kPacked, WireDtype::kF32}) {
    for (const TestAuthority* tls : {static_cast<TestAuthority*>(nullptr), &authority}) {
      if (tls != nullptr && !mutual_tls) continue;
      absl::StatusOr<nlohmann::json> result =
          Measure(data, folder.path(), dtype, {mib << 20, request_kib << 10}, tls);
      if (!result.ok() || result->contains("error")) {
        std::fprintf(stderr, "service_speed: %s\n",
                     result.ok() ? result->dump().c_str() : result.status().ToString().c_str());
        return 1;
      }
      const std::string name(WireDtypeName(dtype));
      nlohmann::json& row = report[tls == nullptr ? name : name + "_mutual_tls"] = *result;
      const auto rate = row["bytes_per_second"].get<double>();
      if (ceiling.ok()) row["of_ceiling"] = rate / *ceiling;
      if (tls != nullptr) {
        row["of_plaintext"] = rate / report[name]["bytes_per_second"].get<double>();
      }
    }
  }
  std::printf("%s\n", report.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
