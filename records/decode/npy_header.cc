// Parses the header of a .npy file, which is a dictionary in Python's notation.
#include <cctype>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "records/decode/npy_reader.h"

namespace penstock {
namespace {

constexpr size_t kMaxAxes = 32;

absl::Status NoHeader(absl::string_view rest) {
  return absl::DataLossError(absl::StrCat(
      "the header is not a NumPy dictionary: cannot parse it at '", rest.substr(0, 20), "'"));
}

absl::Status Unread(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, "; arrays of bool, integers and floats can be read"));
}

// Takes tokens from the front of a dictionary.
class Literal {
 public:
  explicit Literal(absl::string_view text) : rest_(text) {}

  absl::string_view rest() const { return rest_; }

  bool Take(absl::string_view word) {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0]))) {
      rest_.remove_prefix(1);
    }
    return absl::ConsumePrefix(&rest_, word);
  }

  std::optional<absl::string_view> TakeString() {
    if (!Take("'") && !Take("\"")) return std::nullopt;
    const char quote = *(rest_.data() - 1);
    const size_t end = rest_.find(quote);
    if (end == rest_.npos) return std::nullopt;
    const absl::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::optional<uint64_t> TakeNumber() {
    Take("");
    size_t digits = 0;
    while (digits < rest_.size() && std::isdigit(static_cast<unsigned char>(rest_[digits]))) {
      ++digits;
    }
    uint64_t number = 0;
    if (!absl::SimpleAtoi(rest_.substr(0, digits), &number)) return std::nullopt;
    rest_.remove_prefix(digits);
    Take("L");  // Python 2 writes it.
    return number;
  }

 private:
  absl::string_view rest_;
};

absl::string_view KindName(char kind) {
  switch (kind) {
    case 'S':
    case 'a':
      return "an array of byte strings";
    case 'U':
      return "an array of text";
    case 'O':
      return "an array of Python objects";
    case 'c':
      return "an array of complex numbers";
    case 'M':
    case 'm':
      return "an array of times";
    default:
      return "an array of another type";
  }
}

// Parses a type such as "<f4": byte order, kind, size.
absl::Status SetType(absl::string_view descr, NpyHeader& header) {
  const std::string type = absl::StrCat("type '", descr, "' is ");
  uint32_t bytes = 0;
  if (descr.size() < 3 || !absl::SimpleAtoi(descr.substr(2), &bytes)) {
    return Unread(absl::StrCat(type, KindName(descr.size() > 1 ? descr[1] : '?')));
  }
  const char kind = descr[1];
  const absl::string_view kinds = "biuf";
  const size_t number = kinds.find(kind);
  const bool known_size = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (number == kinds.npos) return Unread(absl::StrCat(type, KindName(kind)));
  if (!known_size || (kind == 'f' && bytes == 1) || (kind == 'b' && bytes != 1)) {
    return Unread(absl::StrCat(type, "an array of numbers of ", bytes, " bytes"));
  }
  if (descr[0] != '<' && bytes > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(type, "not little-endian; a.astype(a.dtype.newbyteorder('<')) makes it so"));
  }
  header.kind = static_cast<NpyKind>(number);
  header.item_bytes = bytes;
  return absl::OkStatus();
}

absl::Status TakeShape(Literal& literal, NpyHeader& header) {
  if (!literal.Take("(")) return NoHeader(literal.rest());
  while (!literal.Take(")")) {
    const std::optional<uint64_t> size = literal.TakeNumber();
    if (!size || header.shape.size() == kMaxAxes) return NoHeader(literal.rest());
    header.shape.push_back(*size);
    if (literal.Take(")")) break;
    if (!literal.Take(",")) return NoHeader(literal.rest());
  }
  if (!header.shape.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("is a single number, which has no rows");
}

absl::Status TakeOrder(Literal& literal) {
  if (literal.Take("False")) return absl::OkStatus();
  if (!literal.Take("True")) return NoHeader(literal.rest());
  return absl::InvalidArgumentError(
      "is in Fortran order; numpy.ascontiguousarray() makes C order of it");
}

absl::Status TakeEntry(Literal& literal, NpyHeader& header) {
  const std::optional<absl::string_view> key = literal.TakeString();
  if (!key || !literal.Take(":")) return NoHeader(literal.rest());
  if (*key == "shape") return TakeShape(literal, header);
  if (*key == "fortran_order") return TakeOrder(literal);
  if (*key != "descr") return NoHeader(*key);
  if (literal.Take("[")) return Unread("is a structured array");
  const std::optional<absl::string_view> descr = literal.TakeString();
  return descr ? SetType(*descr, header) : NoHeader(literal.rest());
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view dictionary) {
  Literal literal(dictionary);
  NpyHeader header;
  if (!literal.Take("{")) return NoHeader(literal.rest());
  while (!literal.Take("}")) {
    PENSTOCK_RETURN_IF_ERROR(TakeEntry(literal, header));
    literal.Take(",");
  }
  if (header.item_bytes == 0 || header.shape.empty()) return NoHeader(dictionary);
  return header;
}

}  // namespace penstock
