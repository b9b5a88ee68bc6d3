#include "cli/pack/gather_records.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_size.h"
#include "base/io/file_source.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/pack/counted_source.h"
#include "cli/pack/feature_filter.h"
#include "cli/pack/key_builder.h"
#include "cli/pack/record_spool.h"
#include "cli/terminal/interrupt.h"

namespace penstock {
namespace {

// One call of GatherRecords().
class Gathering {
 public:
  Gathering(const OpenRecords& open, const GatherOptions& options,
            const std::function<void(uint64_t)>& on_bytes)
      : open_(open), options_(options), on_bytes_(on_bytes), filter_(options.must_have) {
    key_.Add(absl::StrCat("gathered 2 ", options.kind));
    key_.Add(uint64_t{options.must_have.size()});
    for (const std::string& name : options.must_have) key_.Add(name);
  }

  absl::Status Read(const InputFiles& files) {
    file_.reset();
    std::vector<std::unique_ptr<ByteSource>> sources;
    for (const std::string& file : files) {
      PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, Open(file));
      sources.push_back(std::move(source));
    }
    const absl::StatusOr<std::unique_ptr<InputRecords>> input = open_(std::move(sources));
    if (absl::IsDataLoss(input.status())) return Skip(ReadNoFurther(input.status()));
    PENSTOCK_RETURN_IF_ERROR(input.status());
    return ReadAll(**input);
  }

  absl::StatusOr<std::unique_ptr<GatheredRecords>> Finish() {
    if (spool_) {
      PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> spooled, spool_->Finish());
      records().SetOpenFile(spool_file_, std::move(spooled));
    }
    records().set_key(key_.Key());
    return std::move(gathered_);
  }

 private:
  absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path) {
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(path));
    path_ = path;
    identity_ = source->identity();
    key_.Add(path);
    key_.Add(identity_.size);
    key_.Add(static_cast<uint64_t>(identity_.modified_ns));
    return std::make_unique<CountedSource>(std::move(source), on_bytes_);
  }

  LocatedRecords& records() { return gathered_->records; }

  absl::Status ReadAll(InputRecords& input) {
    before_ = {records().size(), gathered_->num_lacking, gathered_->num_skipped};
    InputRecord record;
    while (true) {
      PENSTOCK_RETURN_IF_ERROR(InterruptGuard::Check());
      PENSTOCK_ASSIGN_OR_RETURN(const bool more, input.Next(record));
      if (!more) return absl::OkStatus();
      PENSTOCK_RETURN_IF_ERROR(Take(input, record));
    }
  }

  absl::Status Take(const InputRecords& input, const InputRecord& record) {
    if (!record.invalid.ok()) return Skip(record.all_invalid ? TakeBack(record) : record.invalid);
    if (record.payload.size() > LocatedRecords::kMaxPayloadBytes) {
      return Skip(absl::ResourceExhaustedError(
          absl::StrCat(input.Place(), ": the record has ", FormatByteSize(record.payload.size()),
                       "; the maximum is ", FormatByteSize(LocatedRecords::kMaxPayloadBytes))));
    }
    const absl::StatusOr<bool> lacks = filter_.Lacks(record.payload);
    if (!lacks.ok()) return Skip(Annotate(lacks.status(), input.Place()));
    if (*lacks) {
      ++gathered_->num_lacking;
      return absl::OkStatus();
    }
    return record.frame_offset ? AddInPlace(record) : AddCopy(record);
  }

  // Undoes everything since the file's beginning. Its records count as skipped, but only `last` is
  // listed. Returns why they are skipped.
  absl::Status TakeBack(const InputRecord& last) {
    const uint64_t taken = records().size() - before_.records;
    const uint64_t skipped = gathered_->num_skipped - before_.skipped;
    const uint64_t earlier = taken + skipped + gathered_->num_lacking - before_.lacking;
    records().Truncate(before_.records);
    gathered_->num_lacking = before_.lacking;
    gathered_->num_skipped = before_.skipped + earlier;
    gathered_->skipped.resize(std::min<uint64_t>(gathered_->skipped.size(), before_.skipped));
    if (earlier == 0) return last.invalid;
    return absl::Status(
        last.invalid.code(),
        absl::StrCat(last.invalid.message(), ". ", Counted(earlier, "record", "records"),
                     " before this are left out too, because the checksum at the file's end "
                     "covers them"));
  }

  absl::Status Skip(const absl::Status& why) {
    if (!options_.skip_invalid) {
      return absl::Status(why.code(),
                          absl::StrCat(why.message(), "; --skip-invalid leaves such records out"));
    }
    ++gathered_->num_skipped;
    if (gathered_->skipped.size() < GatheredRecords::kMaxListed) {
      gathered_->skipped.emplace_back(why.message());
    }
    return absl::OkStatus();
  }

  absl::Status AddInPlace(const InputRecord& record) {
    if (!file_) file_ = records().AddFile(path_, identity_);
    return records().Add(*file_, *record.frame_offset, record.payload.size());
  }

  absl::Status AddCopy(const InputRecord& record) {
    if (!spool_) {
      PENSTOCK_ASSIGN_OR_RETURN(spool_, RecordSpool::Create(options_.folder));
      spool_file_ = records().AddFile("", {});
    }
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t offset, spool_->Append(record.payload));
    return records().Add(spool_file_, offset, record.payload.size());
  }

  const OpenRecords& open_;
  const GatherOptions& options_;
  const std::function<void(uint64_t)>& on_bytes_;
  FeatureFilter filter_;
  KeyBuilder key_;
  std::unique_ptr<GatheredRecords> gathered_ = std::make_unique<GatheredRecords>();
  std::optional<RecordSpool> spool_;
  uint32_t spool_file_ = 0;

  // The state at the beginning of the file that is being read.
  struct Counts {
    uint64_t records = 0;
    uint64_t lacking = 0;
    uint64_t skipped = 0;
  };
  Counts before_;

  // The file that is being read, or the last of several that are read together.
  std::string path_;
  FileIdentity identity_;
  std::optional<uint32_t> file_;  // The file's number in `records()`, if it has records in place.
};

}  // namespace

absl::StatusOr<std::unique_ptr<GatheredRecords>> GatherRecords(
    const std::vector<InputFiles>& inputs, const OpenRecords& open, const GatherOptions& options,
    const std::function<void(uint64_t)>& on_bytes) {
  Gathering gathering(open, options, on_bytes);
  for (const InputFiles& files : inputs) PENSTOCK_RETURN_IF_ERROR(gathering.Read(files));
  return gathering.Finish();
}

}  // namespace penstock
