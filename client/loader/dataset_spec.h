// Which decode spec a dataset is read with.
#ifndef PENSTOCK_CLIENT_LOADER_DATASET_SPEC_H_
#define PENSTOCK_CLIENT_LOADER_DATASET_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"

namespace penstock {

// What --spec NAME stands for: LoadSpec(), or without a name a spec of no tensors.
absl::StatusOr<v1::DecodeSpec> LoadNamedSpec(const std::string& name);

// Messages call the spec that a manifest stores by this name.
inline constexpr char kManifestSpec[] = "the manifest's spec";

// The --dtype that stands for DefaultDtype().
inline constexpr char kAutoDtype[] = "auto";

// kPacked where the spec expands bits, which take an eighth of the bytes as they are stored;
// otherwise kI8.
WireDtype DefaultDtype(const v1::DecodeSpec& spec);

struct SpecChoice {
  v1::DecodeSpec spec;
  std::string name;  // What messages call it: kManifestSpec; empty: the one that was named.
  std::string note;  // What to tell people; empty: nothing.
};

// `named`, of LoadNamedSpec(), if it has tensors, WithSampleNames(); else for chess's features the
// built-in "chess"; else the spec that the manifest stores; else one made from its features. A note
// says that one was made, and what the made one, or "chess", does not read. kInvalidArgument: no
// spec can be made, or CheckSpecFits() but for the size of rows, which depends on the dtype that is
// asked for.
absl::StatusOr<SpecChoice> ChooseSpec(v1::DecodeSpec named, const Manifest& manifest);

// kInvalidArgument: `spec` needs a feature that the records lack or have of another type or length,
// as far as was seen; says which there are. Or its rows are larger than servers send, whatever the
// dtype. Further errors as Program::Compile().
absl::Status CheckSpecFits(const v1::DecodeSpec& spec, const FeatureSummary& features,
                           RecordFormat format);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_DATASET_SPEC_H_
