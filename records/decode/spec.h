// Where decode specs come from: built in, or a user's textproto.
#ifndef PENSTOCK_RECORDS_DECODE_SPEC_H_
#define PENSTOCK_RECORDS_DECODE_SPEC_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/decode_spec.pb.h"

namespace penstock {

// The built-in spec of that name, or else the one in the file of that name. Built-in are "chess",
// "images-train" and "images-eval", the last two also with parameters ("images-train:72,label-1":
// spec_parameters.h). A file called like a built-in is reached as "./chess". The spec is parsed,
// not checked: Program::Compile does. The file may be a pipe: errors as ReadInput(). kNotFound:
// neither; kInvalidArgument: the file is no textproto of a DecodeSpec (with file, line and column);
// kResourceExhausted: it is larger than 1 MiB.
absl::StatusOr<v1::DecodeSpec> LoadSpec(absl::string_view name_or_file);

// `source` names the text in errors, which end in "source:line:column: reason" for the first few
// mistakes.
absl::StatusOr<v1::DecodeSpec> ParseSpec(absl::string_view text, absl::string_view source);

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_SPEC_H_
