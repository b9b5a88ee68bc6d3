// WebDataset shards: tar archives in which adjacent members of one key are a sample.
#ifndef PENSTOCK_RECORDS_CONTAINER_WEBDATASET_H_
#define PENSTOCK_RECORDS_CONTAINER_WEBDATASET_H_

#include <memory>

#include "records/container/record_cutter.h"
#include "records/container/sample_keys.h"

namespace penstock {

// Samples are formed as group_by_keys() of webdataset/tariterators.py forms them. A sample ends
// before the first member of another key, or where the archive or the bytes end; so the record ends
// with its last member. Members that belong to no sample (SplitSampleName()) are skipped. The
// payload is what Sample builds: one copy of the members' bytes, and no memory taken once the
// largest sample was seen.
//
// `keys`, if not null, is told each sample's key and must outlive the cutter. Its error is that of
// Next(). It belongs to the reading of a whole shard: chunks have been read before.
//
// Links, devices, sparse files and other members that TarReader refuses are errors, and so are two
// members of a sample with one extension.
std::unique_ptr<RecordCutter> NewWebDatasetCutter(SampleKeys* keys = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_WEBDATASET_H_
