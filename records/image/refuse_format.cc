#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "records/image/headers.h"

namespace penstock {
namespace {

// A format whose files have `magic` at byte `offset`.
struct KnownFormat {
  size_t offset;
  absl::string_view magic;
  absl::string_view name;
};

using Magic = absl::string_view;  // Magic(text, size) keeps NUL bytes.
constexpr KnownFormat kFormats[] = {
    {0, "GIF8", "GIF"},
    {0, "BM", "BMP"},
    {0, Magic("II*\0", 4), "TIFF"},
    {0, Magic("MM\0*", 4), "TIFF"},
    {0, Magic("II+\0", 4), "BigTIFF"},
    {0, Magic("MM\0+", 4), "BigTIFF"},
    {8, "WEBP", "WebP"},
    {4, "ftypavif", "AVIF"},
    {4, "ftypavis", "AVIF"},
    {4, "ftyphei", "HEIC"},
    {4, "ftyphev", "HEIC"},
    {4, "ftypmif1", "HEIC"},
    {4, "ftypmsf1", "HEIC"},
    {4, Magic("jP  \r\n\x87\n", 8), "JPEG 2000"},
    {0, Magic("\xff\x4f\xff\x51", 4), "JPEG 2000"},
    {4, Magic("JXL \r\n\x87\n", 8), "JPEG XL"},
    {0, Magic("\xff\x0a", 2), "JPEG XL"},
    {0, "%PDF", "PDF"},
    {0, "<svg", "SVG"},
    {0, "<!DOCTYPE html", "an HTML page"},
    {0, "<html", "an HTML page"},
};

absl::Status NoImage(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": an image must be a JPEG or a PNG"));
}

}  // namespace

absl::Status RefuseFormat(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return NoImage("there are no bytes");
  const absl::string_view head(reinterpret_cast<const char*>(bytes.data()),
                               std::min<size_t>(bytes.size(), 64));
  for (const KnownFormat& format : kFormats) {
    if (head.size() >= format.offset &&
        absl::StartsWithIgnoreCase(head.substr(format.offset), format.magic)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "this is ", format.name, ", which is not supported: convert it to JPEG or PNG"));
    }
  }
  return NoImage(absl::StrCat(bytes.size(), " bytes that are no image"));
}

}  // namespace penstock
