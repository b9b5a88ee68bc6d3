// Makes a group of the fake NCCL hang, for tests.
#ifndef PENSTOCK_TRAINER_CUDA_TESTING_NCCL_HANG_H_
#define PENSTOCK_TRAINER_CUDA_TESTING_NCCL_HANG_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace penstock {

// While this object exists, group `group` of rank 1 hangs. It sets environment variables, so only
// one may exist at a time, and it must be created before the ranks. Thread-safe.
class NcclHang {
 public:
  explicit NcclHang(size_t group)
      : log_(absl::StrCat(testing::TempDir(), "/nccl_hang.", getpid(), ".log")) {
    setenv("FAKE_NCCL_FAULT", absl::StrCat("1 hang ", group).c_str(), 1);
    setenv("FAKE_NCCL_LOG", log_.c_str(), 1);
  }
  ~NcclHang() {
    unsetenv("FAKE_NCCL_FAULT");
    unsetenv("FAKE_NCCL_LOG");
    std::filesystem::remove(log_);
  }
  NcclHang(const NcclHang&) = delete;
  NcclHang& operator=(const NcclHang&) = delete;

  // Whether rank 1 has reached the group.
  bool reached() const {
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) {
      if (line == "1 hang") return true;
    }
    return false;
  }

 private:
  const std::string log_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_TESTING_NCCL_HANG_H_
