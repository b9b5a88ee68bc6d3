// Reads WebDataset shards: tar archives in which adjacent members with the same key are one sample.
#ifndef PENSTOCK_RECORDS_CONTAINER_WEBDATASET_H_
#define PENSTOCK_RECORDS_CONTAINER_WEBDATASET_H_

#include <memory>

#include "records/container/record_cutter.h"
#include "records/container/sample_keys.h"

namespace penstock {

// Samples are formed as by group_by_keys() of webdataset/tariterators.py. A sample ends before the
// first member with another key, or at the end of the archive or of the bytes. A record therefore
// ends with its last member. Members that belong to no sample (SplitSampleName()) are skipped. The
// payload is built by Sample, which copies the members' bytes once, and allocates no memory after
// the largest sample has been seen.
//
// `keys` may be null. If it is set, every sample's key is added to it, and Next() returns its
// errors; it must outlive the cutter. Pass it only when you read a whole shard: the shards of
// chunks were checked when they were indexed.
//
// Links, devices, sparse files and other members that TarReader refuses are errors. So are two
// members of one sample with the same extension.
std::unique_ptr<RecordCutter> NewWebDatasetCutter(SampleKeys* keys = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_WEBDATASET_H_
