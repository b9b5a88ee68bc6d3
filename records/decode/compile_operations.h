// The operations of a spec: one file for each, compile_OPERATION.cc.
#ifndef PENSTOCK_RECORDS_DECODE_COMPILE_OPERATIONS_H_
#define PENSTOCK_RECORDS_DECODE_COMPILE_OPERATIONS_H_

#include <string>

#include "absl/status/status.h"
#include "proto/decode_spec.pb.h"
#include "records/decode/plan_builder.h"

namespace penstock {

// Each checks all of an operation and adds what it needs to the plan: features with every wire
// dtype, tensors where these are not the features themselves. `name` was taken.
absl::Status AddBits(const std::string& name, const v1::Bits& bits, PlanBuilder& plan);
absl::Status AddMateScore(const std::string& name, const v1::MateScore& score, PlanBuilder& plan);
absl::Status AddNumber(const std::string& name, const v1::Number& number, PlanBuilder& plan);
absl::Status AddBytes(const std::string& name, const v1::Bytes& bytes, PlanBuilder& plan);
absl::Status AddLabel(const std::string& name, const v1::Label& label, PlanBuilder& plan);
absl::Status AddImage(const std::string& name, const v1::Image& image, PlanBuilder& plan);

// Whether `bytes` has fields of its version 2: those of a part of a feature and of its axes.
bool TakesPart(const v1::Bytes& bytes);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_COMPILE_OPERATIONS_H_
