// Keeps CUPTI's activity records in order of arrival until they are converted to DeviceRecords.
#ifndef PENSTOCK_TRAINER_CUDA_CUPTI_RECORDS_H_
#define PENSTOCK_TRAINER_CUDA_CUPTI_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/cuda/cupti_library.h"
#include "trainer/profile/clock_map.h"
#include "trainer/profile/device_recorder.h"

namespace penstock {

// Reads fields at the offsets that they have had in every CUPTI since 12.0, and ignores the rest of
// newer records. Not thread-safe.
class CuptiRecords {
 public:
  explicit CuptiRecords(size_t most) : most_(most) {}

  // Keeps the parts of a record that a trace shows; skips other kinds. Records beyond `most` are
  // only counted.
  void Add(const CUpti_Activity& record);
  void CountDropped(uint64_t records) { dropped_ += records; }
  // Counts a buffer whose rest could not be read.
  void CountBroken() { ++broken_; }

  // `streams` has the names of streams by CUPTI's numbers. A stream without a name that runs NCCL's
  // kernels is called "communication".
  DeviceRecords Take(const CuptiLibrary& cupti, const ClockMap& clock,
                     const std::map<uint32_t, std::string>& streams) const;

 private:
  struct Work {
    uint32_t name, stream, correlation;
    bool in_graph;
    uint64_t bytes, begin, end;
  };
  struct Call {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId call;
    uint32_t thread, correlation;
    uint64_t begin, end;
  };
  template <typename Record>
  void AddWork(const Record& record, const char* name, uint64_t bytes);
  bool HasRoom();
  uint32_t IdOf(const std::string& name);
  uint32_t StreamOf(const Work& work, const std::map<uint32_t, std::string>& known,
                    std::map<uint32_t, uint32_t>& ids, DeviceRecords& records) const;
  std::vector<uint32_t> Communicating() const;

  const size_t most_;
  std::map<std::string, uint32_t> ids_;  // IDs by name.
  std::vector<std::string> names_;
  std::vector<Work> work_;
  std::vector<Call> calls_;
  std::map<uint32_t, uint64_t> launches_;  // Launches by correlation ID.
  uint64_t dropped_ = 0, untimed_ = 0, broken_ = 0, overhead_ns_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_CUDA_CUPTI_RECORDS_H_
