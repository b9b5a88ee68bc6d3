// Collects the features, tensors and steps of a program, and enforces the limits of a spec.
#ifndef PENSTOCK_RECORDS_DECODE_PLAN_BUILDER_H_
#define PENSTOCK_RECORDS_DECODE_PLAN_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "records/decode/program_plan.h"
#include "records/decode/spec_tables.h"

namespace penstock {

// Not thread-safe. `tables` and `plan` must outlive it.
class PlanBuilder {
 public:
  PlanBuilder(v1::DecodeSpec::Records records, WireDtype wire_dtype, SpecTables& tables,
              Program::Plan& plan)
      : records_(records), wire_dtype_(wire_dtype), tables_(tables), plan_(plan) {}

  WireDtype wire_dtype() const { return wire_dtype_; }
  // The dtype of floats with the wire dtype.
  Dtype FloatDtype() const;

  // Reserves a tensor name. kInvalidArgument: the name is invalid, or another tensor has it.
  absl::Status TakeName(const std::string& name);

  // Returns the column of a feature with this name in the spec. Tensors that share a feature must
  // use it in the same way.
  absl::StatusOr<size_t> AddFeature(FeatureUse feature);

  // Adds a tensor whose name was taken. Adds none with kPacked, because the tensors are then the
  // features.
  absl::Status AddTensor(const std::string& name, Dtype dtype, std::vector<uint32_t> shape,
                         DecodeStep step);
  // Like AddTensor(), but the name is given by `field` of another tensor. If it is empty, adds no
  // tensor.
  absl::Status AddNamedBy(absl::string_view field, const std::string& name, Dtype dtype,
                          std::vector<uint32_t> shape, DecodeStep step);

  // Like AddTensor(), but adds the lengths of the tensor that was added last.
  absl::Status AddLengths(const std::string& name, std::vector<uint32_t> shape, DecodeStep step);

  // Records that the spec has image operations.
  void AddImages(const ImageUse& use) {
    plan_.images.random |= use.random;
    plan_.images.columns.insert(plan_.images.columns.end(), use.columns.begin(), use.columns.end());
  }

  // Counts bits that tables expand. kResourceExhausted: kMaxBits is exceeded.
  absl::Status TakeBits(size_t size);
  // Returns the table for the next bits operation of the spec, or null with kPacked. REQUIRES: as
  // SpecTables::Get().
  std::shared_ptr<const BitTable> NextTable(const v1::Bits& bits, size_t size,
                                            std::span<const uint32_t> transpose);

  // Call it after the last feature. With kPacked, turns each feature into a tensor.
  absl::Status Finish();

 private:
  bool packed() const { return wire_dtype_ == WireDtype::kPacked; }
  absl::Status CheckRaw(const FeatureUse& feature) const;
  absl::Status Append(const std::string& name, Dtype dtype, std::vector<uint32_t> shape,
                      DecodeStep step);

  v1::DecodeSpec::Records records_;
  WireDtype wire_dtype_;
  SpecTables& tables_;
  Program::Plan& plan_;
  std::set<std::string> names_;
  size_t num_bits_ = 0;
  size_t num_tables_ = 0;
  size_t feature_bytes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_PLAN_BUILDER_H_
