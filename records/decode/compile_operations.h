// The operations of a spec. There is one file for each: compile_OPERATION.cc.
#ifndef PENSTOCK_RECORDS_DECODE_COMPILE_OPERATIONS_H_
#define PENSTOCK_RECORDS_DECODE_COMPILE_OPERATIONS_H_

#include <string>

#include "absl/status/status.h"
#include "proto/decode_spec.pb.h"
#include "records/decode/plan_builder.h"

namespace penstock {

// Each function checks an operation completely. It adds to the plan what the operation needs: its
// features, with every wire dtype, and its tensors, unless the tensors are the features themselves.
// REQUIRES: PlanBuilder::TakeName() was called with `name`. Errors are those of Program::Compile().
absl::Status AddBits(const std::string& name, const v1::Bits& bits, PlanBuilder& plan);
absl::Status AddMateScore(const std::string& name, const v1::MateScore& score, PlanBuilder& plan);
absl::Status AddNumber(const std::string& name, const v1::Number& number, PlanBuilder& plan);
absl::Status AddBytes(const std::string& name, const v1::Bytes& bytes, PlanBuilder& plan);
absl::Status AddLabel(const std::string& name, const v1::Label& label, PlanBuilder& plan);
absl::Status AddImage(const std::string& name, const v1::Image& image, PlanBuilder& plan);

// Whether `bytes` has fields of its version 2, which select a part of a feature or its axes.
bool TakesPart(const v1::Bytes& bytes);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_COMPILE_OPERATIONS_H_
