#include "records/container/webdataset.h"

#include <algorithm>

#include "base/status.h"
#include "records/container/sample.h"
#include "records/container/tar_reader.h"

namespace penstock {
namespace {

class WebDatasetCutter : public RecordCutter {
 public:
  explicit WebDatasetCutter(SampleKeys* keys) : keys_(keys) {}

  absl::StatusOr<Cut> Next(std::span<const uint8_t> bytes, bool at_end) override {
    absl::StatusOr<Cut> cut = CutSample(bytes, at_end);
    if (!cut.ok() || cut->what != Cut::What::kMore) {
      reader_.Reset();
      sample_.Clear();
    }
    return cut;
  }

 private:
  absl::StatusOr<Cut> CutSample(std::span<const uint8_t> bytes, bool at_end) {
    TarMember member;
    while (true) {
      PENSTOCK_ASSIGN_OR_RETURN(const TarReader::Found found, reader_.Next(bytes, at_end, member));
      if (found == TarReader::Found::kMore) return Cut{Cut::What::kMore, reader_.needed(), {}};
      if (found == TarReader::Found::kEnd) break;
      const std::optional<SampleName> name = SplitSampleName(member.name);
      if (!name) continue;
      if (!sample_.empty() && name->key != sample_.key()) break;
      sample_.Add(*name, member);
    }
    if (sample_.empty()) return Cut{Cut::What::kEnd, bytes.size(), {}};
    return Record(bytes);
  }

  absl::StatusOr<Cut> Record(std::span<const uint8_t> bytes) {
    if (keys_ != nullptr) PENSTOCK_RETURN_IF_ERROR(keys_->Add(sample_.key()));
    PENSTOCK_ASSIGN_OR_RETURN(const std::span<const uint8_t> payload, sample_.Build(bytes));
    // The last member of a file may lack its padding.
    return Cut{Cut::What::kRecord, std::min<uint64_t>(sample_.end(), bytes.size()), payload};
  }

  SampleKeys* const keys_;
  TarReader reader_;
  Sample sample_;
};

}  // namespace

std::unique_ptr<RecordCutter> NewWebDatasetCutter(SampleKeys* keys) {
  return std::make_unique<WebDatasetCutter>(keys);
}

}  // namespace penstock
