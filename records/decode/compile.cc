// Program::Compile(): checks a spec, message by message, and plans its decoding.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes_of.h"
#include "base/sha256.h"
#include "base/status.h"
#include "records/decode/program.h"
#include "records/decode/program_plan.h"

namespace penstock {
namespace {

constexpr int kMaxTensors = 256;
constexpr size_t kMaxNameLength = 128;
constexpr size_t kMaxFeatureNameLength = 256;
constexpr int kMaxAxes = 8;
constexpr size_t kMaxRowBytes = size_t{64} << 20;
// Of all tensors of a spec together: the tables take about 14 bytes an element.
constexpr size_t kMaxBits = size_t{1} << 20;

absl::Status RefuseUnknownFields(const google::protobuf::Message& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  if (unknown.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("field ", unknown.field(0).number(), " of ", message.GetTypeName(),
                   " is unknown to decoder version ", kDecoderVersion,
                   ": the spec was written for a newer Penstock"));
}

bool IsTensorNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// Names become file names (NAME.npy), so they hold nothing that a path could use.
absl::Status CheckTensorName(absl::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("has no name");
  if (name.size() > kMaxNameLength ||
      !std::all_of(name.begin(), name.end(), IsTensorNameCharacter)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name is at most ", kMaxNameLength, " letters, digits, '_' and '-'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> Product(const google::protobuf::RepeatedField<uint32_t>& sizes,
                               absl::string_view field) {
  if (sizes.size() > kMaxAxes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(field, " has ", sizes.size(), " axes; the limit is ", kMaxAxes));
  }
  size_t product = 1;
  for (const uint32_t size : sizes) {
    if (size == 0) return absl::InvalidArgumentError(absl::StrCat(field, " has an axis of size 0"));
    product *= size;
    if (product > kMaxBits) {
      return absl::ResourceExhaustedError(absl::StrCat(field, " [", absl::StrJoin(sizes, ", "),
                                                       "] holds more than ", kMaxBits, " bits"));
    }
  }
  return product;
}

absl::Status CheckBit(uint32_t bit, uint32_t bytes, absl::string_view feature) {
  if (bit < uint64_t{8} * bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("mate_bit ", bit, " is outside of feature '",
                                                 feature, "' of ", bytes, " bytes (",
                                                 uint64_t{8} * bytes, " bits)"));
}

// Output axis i is stored axis transpose[i].
absl::StatusOr<std::vector<uint32_t>> CheckedTranspose(const v1::Bits& bits) {
  const int axes = bits.dims_size();
  std::vector<uint32_t> transpose(bits.transpose().begin(), bits.transpose().end());
  if (transpose.empty()) {
    for (int i = 0; i < axes; ++i) transpose.push_back(static_cast<uint32_t>(i));
  }
  std::vector<uint32_t> sorted = transpose;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size() || i < static_cast<size_t>(axes); ++i) {
    if (sorted.size() != static_cast<size_t>(axes) || sorted[i] != i) {
      return absl::InvalidArgumentError(absl::StrCat("transpose [", absl::StrJoin(transpose, ", "),
                                                     "] is no permutation of the ", axes,
                                                     " axes of dims"));
    }
  }
  return transpose;
}

absl::Status CheckSigns(const v1::Bits& bits) {
  const uint32_t axis = bits.sign_axis();
  if (axis >= static_cast<uint32_t>(bits.dims_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("sign_axis ", axis, " is none of the ", bits.dims_size(), " axes of dims"));
  }
  std::set<uint32_t> seen;
  for (const uint32_t index : bits.negative()) {
    if (index >= bits.dims(static_cast<int>(axis))) {
      return absl::InvalidArgumentError(absl::StrCat("negative index ", index,
                                                     " is outside of axis ", axis, " of size ",
                                                     bits.dims(static_cast<int>(axis))));
    }
    if (!seen.insert(index).second) {
      return absl::InvalidArgumentError(absl::StrCat("negative index ", index, " is given twice"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint32_t>> CheckedShape(const v1::Bits& bits, size_t size,
                                                   std::span<const uint32_t> transpose) {
  if (bits.shape().empty()) {
    std::vector<uint32_t> shape;
    for (const uint32_t axis : transpose) shape.push_back(bits.dims(static_cast<int>(axis)));
    return shape;
  }
  PENSTOCK_ASSIGN_OR_RETURN(const size_t product, Product(bits.shape(), "shape"));
  if (product != size) {
    return absl::InvalidArgumentError(absl::StrCat("shape [", absl::StrJoin(bits.shape(), ", "),
                                                   "] holds ", product, " elements, dims [",
                                                   absl::StrJoin(bits.dims(), ", "), "] ", size));
  }
  return std::vector<uint32_t>(bits.shape().begin(), bits.shape().end());
}

Dtype BitsDtype(WireDtype wire_dtype) {
  switch (wire_dtype) {
    case WireDtype::kBf16:
      return Dtype::kBf16;
    case WireDtype::kF32:
      return Dtype::kF32;
    case WireDtype::kF64:
      return Dtype::kF64;
    default:
      return Dtype::kI8;
  }
}

Dtype NumberDtype(WireDtype wire_dtype) {
  return wire_dtype == WireDtype::kI8 ? Dtype::kF32 : BitsDtype(wire_dtype);
}

Dtype PackedDtype(FeatureType type) {
  switch (type) {
    case FeatureType::kInt64:
      return Dtype::kI64;
    case FeatureType::kFloat:
      return Dtype::kF32;
    case FeatureType::kNone:
    case FeatureType::kBytes:
      break;
  }
  return Dtype::kU8;
}

uint64_t Fingerprint(const v1::DecodeSpec& spec) {
  const std::string text =
      absl::StrCat("penstock decode ", kDecoderVersion, "\n", spec.SerializeAsString());
  Sha256 sha256;
  sha256.Update(BytesOf(text));
  const Sha256::Digest digest = sha256.Finish();
  uint64_t fingerprint = 0;
  for (size_t i = 0; i < 8; ++i) fingerprint |= uint64_t{digest[i]} << (8 * i);
  return fingerprint;
}

// Fills a plan, tensor by tensor. Not thread-safe.
class Compiler {
 public:
  Compiler(WireDtype wire_dtype, SpecTables& tables, Program::Plan& plan)
      : wire_dtype_(wire_dtype), tables_(tables), plan_(plan) {}

  absl::Status Add(const v1::TensorSpec& tensor) {
    PENSTOCK_RETURN_IF_ERROR(CheckTensorName(tensor.name()));
    if (!names_.insert(tensor.name()).second) {
      return absl::InvalidArgumentError("another tensor has this name");
    }
    PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(tensor));
    switch (tensor.op_case()) {
      case v1::TensorSpec::kBits:
        return AddBits(tensor.name(), tensor.bits());
      case v1::TensorSpec::kMateScore:
        return AddMateScore(tensor.name(), tensor.mate_score());
      case v1::TensorSpec::kNumber:
        return AddNumber(tensor.name(), tensor.number());
      case v1::TensorSpec::kBytes:
        return AddBytes(tensor.name(), tensor.bytes());
      case v1::TensorSpec::kLabel:
        return AddLabel(tensor.name(), tensor.label());
      case v1::TensorSpec::OP_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError(
        "has no operation: give one of bits, mate_score, number, bytes, label");
  }

  // The tensors of kPacked.
  absl::Status AddFeatures() {
    for (size_t column = 0; column < plan_.features.size(); ++column) {
      const FeatureUse& feature = plan_.features[column];
      PENSTOCK_RETURN_IF_ERROR(
          AddTensor(feature.name, PackedDtype(feature.type), {feature.count}, CopyStep{column}));
    }
    return absl::OkStatus();
  }

 private:
  bool packed() const { return wire_dtype_ == WireDtype::kPacked; }

  absl::Status AddBits(const std::string& name, const v1::Bits& bits) {
    PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(bits));
    if (bits.dims().empty()) return absl::InvalidArgumentError("dims is empty");
    PENSTOCK_ASSIGN_OR_RETURN(
        const size_t column, AddFeature(bits.feature(), FeatureType::kBytes, bits.feature_bytes()));
    PENSTOCK_ASSIGN_OR_RETURN(const size_t size, Product(bits.dims(), "dims"));
    num_bits_ += size;
    if (num_bits_ > kMaxBits) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the spec expands more than ", kMaxBits, " bits a row"));
    }
    if (uint64_t{bits.first_bit()} + size > uint64_t{8} * bits.feature_bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat("bits ", bits.first_bit(), " to ", uint64_t{bits.first_bit()} + size - 1,
                       " are outside of feature '", bits.feature(), "' of ", bits.feature_bytes(),
                       " bytes (", uint64_t{8} * bits.feature_bytes(), " bits)"));
    }
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<uint32_t> transpose, CheckedTranspose(bits));
    PENSTOCK_RETURN_IF_ERROR(CheckSigns(bits));
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<uint32_t> shape, CheckedShape(bits, size, transpose));
    if (packed()) return absl::OkStatus();
    BitsStep step{column, tables_.Get(num_tables_++, bits, size, transpose)};
    return AddTensor(name, BitsDtype(wire_dtype_), std::move(shape), std::move(step));
  }

  absl::Status AddMateScore(const std::string& name, const v1::MateScore& score) {
    PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(score));
    MateScoreStep step;
    step.mate_bit = score.mate_bit();
    if (score.a() != 0) step.params.a = score.a();
    if (score.b() != 0) step.params.b = score.b();
    if (score.k() != 0) step.params.k = score.k();
    if (!(step.params.a > 0 && step.params.a <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("a = ", step.params.a, " is not in (0, 1]"));
    }
    if (!(step.params.b > 1 && std::isfinite(step.params.b))) {
      return absl::InvalidArgumentError(
          absl::StrCat("b = ", step.params.b, " is not above 1 and finite"));
    }
    if (!(step.params.k > 0 && std::isfinite(step.params.k))) {
      return absl::InvalidArgumentError(
          absl::StrCat("k = ", step.params.k, " is not positive and finite"));
    }
    PENSTOCK_ASSIGN_OR_RETURN(step.column, AddFeature(score.feature(), FeatureType::kInt64, 1));
    PENSTOCK_ASSIGN_OR_RETURN(
        step.mate_column,
        AddFeature(score.mate_feature(), FeatureType::kBytes, score.mate_feature_bytes()));
    PENSTOCK_RETURN_IF_ERROR(
        CheckBit(score.mate_bit(), score.mate_feature_bytes(), score.mate_feature()));
    const Dtype dtype = wire_dtype_ == WireDtype::kF64 ? Dtype::kF64 : Dtype::kF32;
    return AddTensorUnlessPacked(name, dtype, {}, step);
  }

  absl::Status AddNumber(const std::string& name, const v1::Number& number) {
    PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(number));
    NumberStep step;
    step.count = number.count();
    switch (number.type()) {
      case v1::Number::INT64:
        step.type = FeatureType::kInt64;
        break;
      case v1::Number::FLOAT:
        step.type = FeatureType::kFloat;
        break;
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("type ", static_cast<int>(number.type()), " is neither INT64 nor FLOAT"));
    }
    PENSTOCK_ASSIGN_OR_RETURN(step.column, AddFeature(number.feature(), step.type, step.count));
    return AddTensorUnlessPacked(name, NumberDtype(wire_dtype_), {step.count}, step);
  }

  absl::Status AddBytes(const std::string& name, const v1::Bytes& bytes) {
    PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(bytes));
    CopyStep step;
    PENSTOCK_ASSIGN_OR_RETURN(step.column,
                              AddFeature(bytes.feature(), FeatureType::kBytes, bytes.length()));
    return AddTensorUnlessPacked(name, Dtype::kU8, {bytes.length()}, step);
  }

  absl::Status AddLabel(const std::string& name, const v1::Label& label) {
    PENSTOCK_RETURN_IF_ERROR(RefuseUnknownFields(label));
    CopyStep step;
    PENSTOCK_ASSIGN_OR_RETURN(step.column, AddFeature(label.feature(), FeatureType::kInt64, 1));
    return AddTensorUnlessPacked(name, Dtype::kI64, {}, step);
  }

  absl::StatusOr<size_t> AddFeature(const std::string& name, FeatureType type, uint32_t count) {
    if (name.empty()) return absl::InvalidArgumentError("names no feature");
    if (name.size() > kMaxFeatureNameLength) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "a feature's name has ", name.size(), " bytes; the limit is ", kMaxFeatureNameLength));
    }
    const FeatureUse feature{name, type, count};
    const absl::string_view unit = type == FeatureType::kBytes ? " byte(s)" : " value(s)";
    if (count == 0) {
      return absl::InvalidArgumentError(absl::StrCat("feature '", name, "' has 0", unit));
    }
    for (size_t i = 0; i < plan_.features.size(); ++i) {
      const FeatureUse& known = plan_.features[i];
      if (known.name != name) continue;
      if (known.type == type && known.count == count) return i;
      return absl::InvalidArgumentError(
          absl::StrCat("feature '", name, "' is ", FeatureTypeName(type), "[", count, "] here and ",
                       FeatureTypeName(known.type), "[", known.count, "] in an earlier tensor"));
    }
    feature_bytes_ += feature.row_bytes();
    if (feature_bytes_ > kMaxRowBytes) {
      return absl::ResourceExhaustedError(absl::StrCat("with feature '", name, "' a record has ",
                                                       feature_bytes_, " bytes; the limit is ",
                                                       kMaxRowBytes));
    }
    plan_.features.push_back(feature);
    return plan_.features.size() - 1;
  }

  absl::Status AddTensorUnlessPacked(const std::string& name, Dtype dtype,
                                     std::vector<uint32_t> shape, DecodeStep step) {
    if (packed()) return absl::OkStatus();
    return AddTensor(name, dtype, std::move(shape), std::move(step));
  }

  absl::Status AddTensor(const std::string& name, Dtype dtype, std::vector<uint32_t> shape,
                         DecodeStep step) {
    size_t row_bytes = DtypeSize(dtype);
    for (const uint32_t size : shape) row_bytes *= size;
    plan_.row_bytes += row_bytes;
    if (plan_.row_bytes > kMaxRowBytes) {
      return absl::ResourceExhaustedError(absl::StrCat("with tensor '", name, "' a row has ",
                                                       plan_.row_bytes, " bytes; the limit is ",
                                                       kMaxRowBytes));
    }
    plan_.tensors.push_back(TensorInfo{name, dtype, std::move(shape), row_bytes});
    plan_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  WireDtype wire_dtype_;
  SpecTables& tables_;
  Program::Plan& plan_;
  std::set<std::string> names_;
  size_t num_bits_ = 0;
  size_t num_tables_ = 0;
  size_t feature_bytes_ = 0;
};

}  // namespace

absl::StatusOr<Program> Program::Compile(const v1::DecodeSpec& spec, WireDtype wire_dtype) {
  SpecTables tables;
  return Compile(spec, wire_dtype, tables);
}

absl::StatusOr<Program> Program::Compile(const v1::DecodeSpec& spec, WireDtype wire_dtype,
                                         SpecTables& tables) {
  PENSTOCK_RETURN_IF_ERROR(Annotate(RefuseUnknownFields(spec), "decode spec"));
  if (spec.tensor().empty()) {
    return absl::InvalidArgumentError("decode spec: has no tensor");
  }
  if (spec.tensor_size() > kMaxTensors) {
    return absl::ResourceExhaustedError(absl::StrCat("decode spec: has ", spec.tensor_size(),
                                                     " tensors; the limit is ", kMaxTensors));
  }
  auto plan = std::make_shared<Plan>();
  Compiler compiler(wire_dtype, tables, *plan);
  for (int i = 0; i < spec.tensor_size(); ++i) {
    const std::string where =
        absl::StrCat("decode spec: tensor ", i, " '", spec.tensor(i).name(), "'");
    PENSTOCK_RETURN_IF_ERROR(Annotate(compiler.Add(spec.tensor(i)), where));
  }
  if (wire_dtype == WireDtype::kPacked) {
    PENSTOCK_RETURN_IF_ERROR(Annotate(compiler.AddFeatures(), "decode spec"));
  }
  plan->fingerprint = Fingerprint(spec);
  return Program(std::move(plan));
}

}  // namespace penstock
