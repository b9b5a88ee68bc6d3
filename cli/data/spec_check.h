// Whether records can be read with a decode spec, one by one.
#ifndef PENSTOCK_CLI_DATA_SPEC_CHECK_H_
#define PENSTOCK_CLI_DATA_SPEC_CHECK_H_

#include <string>

#include "absl/status/statusor.h"
#include "records/dataset/shard_scan.h"

namespace penstock {

// Checks that a record has what the spec reads: the features, their types and numbers of values.
// With `decode` it decodes all tensors but images too, so that each integer must be exact.
// `spec` is the textproto that a manifest stores; of one that this version cannot read nothing is
// checked.
absl::StatusOr<PayloadCheck> MakeSpecCheck(const std::string& spec, bool decode);

}  // namespace penstock

#endif  // PENSTOCK_CLI_DATA_SPEC_CHECK_H_
