// A checkpoint in a temporary folder, and simulated full disks.
#ifndef PENSTOCK_TRAINER_CHECKPOINT_TESTING_CHECKPOINT_FIXTURE_H_
#define PENSTOCK_TRAINER_CHECKPOINT_TESTING_CHECKPOINT_FIXTURE_H_

#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "base/crc32c.h"
#include "gtest/gtest.h"
#include "tests/temp_folder.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/model/initialize.h"

namespace penstock {

inline const ModelConfig kModel{"small", 1, 8, 2, 8};

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : table_(ParameterTable::For(kModel)), state_(table_.arena_size()) {
    InitializeParameters(table_, 1, state_.parameters);
    InitializeParameters(table_, 2, state_.m);
    InitializeParameters(table_, 3, state_.v);
    info_ = {.model = kModel,
             .seed = 7,
             .step = 41,
             .cursor = "ps1-00-1-2",
             .global_batch_size = 256,
             .virtual_shards = 8,
             .block_rows = 4,
             .targets = "a 0.8, b 11, k 400",
             .numerics = "cpu onednn avx512",
             .reduction = "fast",
             .compression = "bf16",
             .accumulate = 2,
             .remainder = "short",
             .precision = "bf16",
             .gemm_plan = "onednn",
             .libraries = "oneDNN 2.6.0",
             .world_size = 2,
             .score_sum = 0.1,
             .score_count = 12,
             .version = "0.1.0",
             .best = BestEvaluation{37, 0.02, 3},
             .judged_step = 40};
    state_.step = info_.step;
  }

  absl::Status Save() { return SaveCheckpoint(path_, info_, table_, state_); }
  std::string ReadBytes() {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void WriteBytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  absl::Status LoadBytes(const std::string& bytes) {
    WriteBytes(bytes);
    return LoadCheckpoint(path_, kModel).status();
  }
  // Returns `bytes` with a matching CRC.
  static std::string Sealed(std::string bytes) {
    const size_t body = bytes.size() - 4;
    const uint32_t crc = Crc32c({reinterpret_cast<const uint8_t*>(bytes.data()), body});
    std::memcpy(bytes.data() + body, &crc, 4);
    return bytes;
  }

  // Returns `whole` with its JSON replaced by `json`, and with matching sizes and CRC.
  static std::string WithJson(const std::string& whole, const std::string& json) {
    uint32_t before = 0;
    std::memcpy(&before, whole.data() + 12, 4);
    std::string other = whole.substr(0, 24) + json + whole.substr(24 + before);
    const auto size = static_cast<uint32_t>(json.size());
    std::memcpy(other.data() + 12, &size, 4);
    return Sealed(other);
  }

  const TempFolder temp_;
  const std::string folder_ = temp_.path(), path_ = temp_.File("one.ckpt");
  ParameterTable table_;
  TrainState state_;
  CheckpointInfo info_;
};

// Simulates a full disk by a limit on file size.
class FullDisk {
 public:
  FullDisk() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{100, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CHECKPOINT_TESTING_CHECKPOINT_FIXTURE_H_
