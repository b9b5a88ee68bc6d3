// Chooses the decode spec for a dataset.
#ifndef PENSTOCK_CLIENT_LOADER_DATASET_SPEC_H_
#define PENSTOCK_CLIENT_LOADER_DATASET_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/dtype.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"

namespace penstock {

// Loads the spec of --spec NAME with LoadSpec(). Without a name it returns a spec without tensors.
absl::StatusOr<v1::DecodeSpec> LoadNamedSpec(const std::string& name);

// The name of the manifest's stored spec in messages.
inline constexpr char kManifestSpec[] = "the manifest's spec";

// The --dtype that means DefaultDtype().
inline constexpr char kAutoDtype[] = "auto";

// Returns kPacked if the spec expands bits and can be sent packed, because stored bits take an
// eighth of the bytes. Otherwise returns kI8.
WireDtype DefaultDtype(const v1::DecodeSpec& spec);

struct SpecChoice {
  v1::DecodeSpec spec;
  std::string name;  // Its name in messages, such as kManifestSpec; empty if the user named it.
  std::string note;  // A message for the user; may be empty.
};

// Chooses the first of these:
//   - `named`, from LoadNamedSpec(), with WithSampleNames(), if it has tensors
//   - the built-in "chess", if the features are those of chess, or there are neither features nor
//     a stored spec
//   - the spec that the manifest stores
//   - a spec made from the manifest's features
// The note says that a spec was made, which features a made spec, or "chess", does not read, and
// what ClippedNote() says.
//
// kInvalidArgument: no spec can be made, or CheckSpecFits() fails. The size of rows is not checked,
// because it depends on the dtype.
absl::StatusOr<SpecChoice> ChooseSpec(v1::DecodeSpec named, const Manifest& manifest);

// Says which feature has images whose values `spec` clips, and how to scale them. Returns an empty
// string if there is none.
std::string ClippedNote(const v1::DecodeSpec& spec, const FeatureSummary& features);

// kInvalidArgument: as far as `features` show, the records lack a feature that `spec` needs, or
// have it with another type or length; the message lists their features. Or rows are larger than
// servers send, whatever the dtype. Other errors are those of Program::Compile().
absl::Status CheckSpecFits(const v1::DecodeSpec& spec, const FeatureSummary& features,
                           RecordFormat format);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_LOADER_DATASET_SPEC_H_
