// The manifest of what is trained on, wherever it is.
#ifndef PENSTOCK_TRAINER_APP_OPEN_MANIFEST_H_
#define PENSTOCK_TRAINER_APP_OPEN_MANIFEST_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "proto/decode_spec.pb.h"
#include "records/dataset/manifest.h"
#include "trainer/app/options.h"

namespace penstock {

// --manifest: a file, a folder, which is indexed if need be, or server:PATH. Prints what takes
// time. `may_go_on` is asked meanwhile; its error ends this. REQUIRES: options.Validate().
absl::StatusOr<std::shared_ptr<const Manifest>> OpenManifest(
    const TrainerOptions& options, const v1::DecodeSpec& spec,
    const std::function<absl::Status()>& may_go_on);

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_APP_OPEN_MANIFEST_H_
