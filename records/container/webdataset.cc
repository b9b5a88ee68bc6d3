#include "records/container/webdataset.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
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
    if (cut.ok() && cut->what == Cut::What::kEnd) marked_end_ = reader_.marked_end();
    if (!cut.ok() || cut->what != Cut::What::kMore) {
      reader_.Reset();
      sample_.Clear();
    }
    return cut;
  }

  absl::Status CheckEnd(const ByteSource& file, uint64_t begin) const override {
    if (!marked_end_) {
      return absl::DataLossError(
          "the archive is truncated: the two blocks of zeros that end a tar are missing, so "
          "members "
          "may be missing too; write the archive again");
    }
    std::vector<uint8_t> bytes;
    for (uint64_t at = begin + *marked_end_; at < file.size(); at += bytes.size()) {
      bytes.resize(std::min(kBlockBytes, file.size() - at));
      PENSTOCK_RETURN_IF_ERROR(file.ReadAt(at, bytes));
      const auto found = std::ranges::find_if(bytes, [](uint8_t byte) { return byte != 0; });
      if (found == bytes.end()) continue;
      return absl::DataLossError(
          absl::StrCat("the archive ends at byte ", begin + *marked_end_,
                       " of the file, but a second one or "
                       "other bytes follow at byte ",
                       at + static_cast<uint64_t>(found - bytes.begin()),
                       "; join archives with tar --concatenate, not with cat"));
    }
    return absl::OkStatus();
  }

 private:
  static constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

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
  std::optional<uint64_t> marked_end_;  // Of the last kEnd.
};

}  // namespace

std::unique_ptr<RecordCutter> NewWebDatasetCutter(SampleKeys* keys) {
  return std::make_unique<WebDatasetCutter>(keys);
}

}  // namespace penstock
