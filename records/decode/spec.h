// Loads decode specs, either built-in ones or a user's textproto.
#ifndef PENSTOCK_RECORDS_DECODE_SPEC_H_
#define PENSTOCK_RECORDS_DECODE_SPEC_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/decode_spec.pb.h"

namespace penstock {

// Loads the built-in spec of this name, or else the file of this name. Built-in specs are "chess",
// "images-train" and "images-eval"; the last two also accept parameters ("images-train:72,label-1":
// spec_parameters.h). To load a file with the name of a built-in spec, write "./chess". The spec is
// parsed but not checked; Program::Compile() does that.
// The file may be a pipe; errors of reading it are those of ReadInput().
// kNotFound: there is neither such a spec nor such a file.
// kInvalidArgument: the file is not a textproto of a DecodeSpec (with file, line and column).
// kResourceExhausted: the file is larger than 1 MiB.
absl::StatusOr<v1::DecodeSpec> LoadSpec(absl::string_view name_or_file);

// Parses a textproto. `source` names it in errors, which end in "source:line:column: reason" for
// the first few mistakes. Errors are those of LoadSpec().
absl::StatusOr<v1::DecodeSpec> ParseSpec(absl::string_view text, absl::string_view source);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_SPEC_H_
