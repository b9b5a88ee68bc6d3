// Checks that each record can be read with a decode spec.
#ifndef PENSTOCK_CLI_DATA_SPEC_CHECK_H_
#define PENSTOCK_CLI_DATA_SPEC_CHECK_H_

#include <string>

#include "absl/status/statusor.h"
#include "records/dataset/shard_scan.h"

namespace penstock {

// Makes checks that a record has the features that the spec reads, with the right types and numbers
// of values. With `decode`, the checks also decode all tensors except images, so that each integer
// must be exact. `spec` is the textproto that a manifest stores, compiled once for all checks. If
// this version cannot read it, the result is empty and nothing is checked.
PayloadCheckMaker SpecCheckMaker(const std::string& spec, bool decode);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_SPEC_CHECK_H_
