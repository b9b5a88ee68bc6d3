// Measures how a client of chess positions and a client of images share the threads of one engine.
// Both always have requests outstanding, and both discard what they get. Prints JSON.
//
//   fair_share [--seconds S] [--rounds N] [--images KIND] [--image-clients N]
//
// A client's quotient is its rate beside the other client divided by its rate alone. Its share is
// its quotient divided by the sum of both quotients: the part of the threads' time that it gets.
// Even shares are 0.5. Each round measures chess alone, images alone and both; the report has the
// medians. Both clients read a window that is loaded once. Images are cropped to 224x224. Their
// kinds are `photos` (640x480 JPEGs of quality 90), `progressive` (2400x2400) and `flat` (PNGs of
// 8000x2700 pixels in 68 KB). With N image clients, even shares are 1 / (N + 1): `of_even_share` is
// the share of chess divided by that.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/flags/command_line.h"
#include "base/mutex.h"
#include "base/status.h"
#include "bench/report.h"
#include "records/decode/spec.h"
#include "records/engine/engine.h"
#include "records/engine/testing/chess_data.h"
#include "records/engine/testing/record_data.h"
#include "records/format/testing/wire_writer.h"
#include "records/image/testing/large_images.h"
#include "tests/temp_folder.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kImages[] = R"(
    tensor { name: "image" image { feature: "jpeg"
                                   random_resized_crop { height: 224 width: 224 } flip: 0.5 } })";
struct ImageKind {
  size_t count = 256;  // Images of the window.
  uint32_t rows = 7;   // Images of a request, which take about 10 ms if they are photos.
  std::vector<uint8_t> (*encode)() = nullptr;
};

const std::map<std::string, ImageKind> kKinds = {
    {"photos", {256, 7, [] { return EncodeJpeg(DrawPicture(640, 480), 640, 480, {}); }}},
    {"progressive",
     {8, 1, [] { return EncodeJpeg(DrawPicture(2400, 2400), 2400, 2400, {.progressive = true}); }}},
    {"flat", {8, 1, [] { return EncodePng(std::vector<uint8_t>(8000 * 2700 * 3), 8000, 2700); }}}};

// Keeps `ahead` requests of one window outstanding, each for `rows` rows.
class Client final : public SessionEvents {
 public:
  Client(const StreamOptions& stream, OpenWindow window, uint32_t rows, uint64_t ahead)
      : stream_(stream), window_(std::move(window)), rows_(rows), ahead_(ahead) {}

  // Returns the rows per second over `seconds`, after a warm-up of a tenth of that.
  absl::StatusOr<double> Measure(Engine& engine, double seconds) {
    left_ = 0;
    PENSTOCK_ASSIGN_OR_RETURN(auto session, engine.OpenSession(stream_, *this));
    PENSTOCK_RETURN_IF_ERROR(session->OpenWindow(window_));
    PENSTOCK_RETURN_IF_ERROR(ReadFor(*session, seconds / 10).status());
    return ReadFor(*session, seconds);
  }

  void OnWindowReady(uint64_t, uint64_t) override {}
  void OnPart(PartBuffer part) override {
    const uint32_t rows = part.rows;
    part = PartBuffer();
    MutexLock lock(&mutex_);
    left_ -= rows;
    changed_.NotifyAll();
  }
  void OnError(StreamError error) override {
    MutexLock lock(&mutex_);
    status_ = std::move(error.status);
    changed_.NotifyAll();
  }

 private:
  absl::StatusOr<double> ReadFor(Session& session, double seconds) {
    const Clock::time_point begin = Clock::now();
    uint64_t asked = Left();  // Rows of the warm-up that are still to come count too.
    double passed = 0;
    while (passed < seconds) {
      while (Left() <= (ahead_ - 1) * rows_) {
        PENSTOCK_RETURN_IF_ERROR(Ask(session));
        asked += rows_;
      }
      PENSTOCK_RETURN_IF_ERROR(AwaitOne());
      passed = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return static_cast<double>(asked - Left()) / passed;
  }
  absl::Status Ask(Session& session) {
    const uint64_t blocks = std::max<uint64_t>(window_.rows / rows_, 1);
    const Fetch fetch{.request = ++request_,
                      .window = window_.window,
                      .first_row = static_cast<uint32_t>(request_ % blocks * rows_),
                      .rows = rows_,
                      .needed_at = request_};
    {
      MutexLock lock(&mutex_);
      left_ += rows_;
    }
    return session.Fetch(fetch);
  }
  absl::Status AwaitOne() {
    MutexLock lock(&mutex_);
    while (left_ > (ahead_ - 1) * rows_ && status_.ok()) changed_.Wait(&mutex_);
    return status_;
  }
  uint64_t Left() const {
    MutexLock lock(&mutex_);
    return left_;
  }

  const StreamOptions stream_;
  const OpenWindow window_;
  const uint32_t rows_;
  const uint64_t ahead_;
  uint64_t request_ = 0;
  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t left_ ABSL_GUARDED_BY(mutex_) = 0;  // Rows requested and not received.
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

RecordData MakeImages(const std::string& folder, const ImageKind& kind) {
  const std::vector<uint8_t> image = kind.encode();
  const std::string payload = Example(Entry("jpeg", BytesKind({image.begin(), image.end()})));
  return RecordData(folder, std::vector<std::string>(kind.count, payload), 8);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Settings {
  double seconds = 2;
  int rounds = 5;
  std::string images = "photos";
  size_t image_clients = 1;
};

// Returns the rates of the image clients, measured at the same time, and of `chess` beside them.
absl::StatusOr<std::vector<double>> MeasureTogether(Engine& engine, Client& chess,
                                                    std::vector<std::unique_ptr<Client>>& images,
                                                    double seconds) {
  std::vector<absl::StatusOr<double>> rates(images.size() + 1, 0.0);
  std::vector<std::jthread> others;
  for (size_t i = 0; i < images.size(); ++i) {
    others.emplace_back([&, i] { rates[i] = images[i]->Measure(engine, seconds); });
  }
  rates.back() = chess.Measure(engine, seconds);
  others.clear();
  std::vector<double> measured;
  for (absl::StatusOr<double>& rate : rates) {
    PENSTOCK_ASSIGN_OR_RETURN(measured.emplace_back(), std::move(rate));
  }
  return measured;
}

absl::StatusOr<nlohmann::json> Run(const Settings& settings) {
  TempFolder folder;
  const ImageKind& kind = kKinds.at(settings.images);
  const ChessData chess_data(folder.path(), {.records_per_chunk = 1000});
  const RecordData image_data = MakeImages(folder.path(), kind);
  PENSTOCK_ASSIGN_OR_RETURN(auto engine, Engine::Create({.data_root = folder.path()}));
  // Requests for 10 ms of work each, so that a session never waits for its client's thread.
  Client chess(chess_data.Stream(), chess_data.Window(1, {0, 1, 2, 3, 4, 5, 6, 7}), 600, 64);
  std::vector<std::unique_ptr<Client>> images;
  for (size_t i = 0; i < settings.image_clients; ++i) {
    OpenWindow window = image_data.Window(1);
    window.augmentation_key = i;  // So that no rows are shared.
    images.push_back(std::make_unique<Client>(RecordData::Stream(kImages), window, kind.rows, 4));
  }
  std::vector<double> chess_alone, images_alone, chess_beside, images_beside, share;
  for (int round = 0; round < settings.rounds; ++round) {
    PENSTOCK_ASSIGN_OR_RETURN(chess_alone.emplace_back(), chess.Measure(*engine, settings.seconds));
    PENSTOCK_ASSIGN_OR_RETURN(images_alone.emplace_back(),
                              images[0]->Measure(*engine, settings.seconds));
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<double> rates,
                              MeasureTogether(*engine, chess, images, settings.seconds));
    chess_beside.push_back(rates.back());
    rates.pop_back();
    images_beside.push_back(std::accumulate(rates.begin(), rates.end(), 0.0));
    const double of_chess = chess_beside.back() / chess_alone.back();
    const double of_images = images_beside.back() / images_alone.back();
    share.push_back(of_chess / (of_chess + of_images));
  }
  const double even = 1 / static_cast<double>(settings.image_clients + 1);
  return nlohmann::json{{"images", settings.images},
                        {"image_clients", settings.image_clients},
                        {"chess_alone", Median(chess_alone)},
                        {"images_alone", Median(images_alone)},
                        {"chess_beside", Median(chess_beside)},
                        {"images_beside", Median(images_beside)},
                        {"share_of_chess", Median(share)},
                        {"of_even_share", Median(share) / even},
                        {"shares_of_chess", share}};
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  CLI::App app("How a client of chess and others of images share one engine");
  penstock::Settings settings;
  std::string json;
  app.add_option("--seconds", settings.seconds, "Length of each measurement");
  app.add_option("--rounds", settings.rounds, "Rounds of three measurements each");
  app.add_option("--images", settings.images, "Kind of the images")
      ->check(CLI::IsMember({"photos", "progressive", "flat"}));
  app.add_option("--image-clients", settings.image_clients, "Number of clients of images")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", json, "Write the report to this file too");
  if (const auto code = penstock::ParseCommandLine(app, "fair_share", argc, argv)) return *code;
  return penstock::PrintReport("fair_share", penstock::Run(settings), json);
}
