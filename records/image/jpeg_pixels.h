// Decodes the pixels of a JPEG with libjpeg-turbo.
#ifndef PENSTOCK_RECORDS_IMAGE_JPEG_PIXELS_H_
#define PENSTOCK_RECORDS_IMAGE_JPEG_PIXELS_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "records/image/geometry.h"
#include "records/image/image_decode_options.h"
#include "records/image/pixels.h"

namespace penstock {

// Uses the accurate integer DCT and fancy upsampling, which every version and SIMD path of
// libjpeg-turbo computes in the same way. A progressive file that lacks scans is not smoothed,
// because versions differ there.
//
// A region is decoded alone if the file has one scan, directly followed by its end marker
// (HoldsOneWholeScan()). Rows above the region are then only entropy-decoded, rows below it are not
// read, and columns beside it are neither transformed nor converted. Damage within the data of a
// scan never causes a failure: the library warns and continues to the end marker. So such a file
// fails in its headers or not at all, whatever the region.
//
// Every other file is decoded whole: a file with several scans, a truncated file, a file with other
// markers between its scan and its end, and a shrunk file with more than four samples of luma for
// one of chroma.
//
// Not thread-safe.
class JpegPixels {
 public:
  JpegPixels();
  ~JpegPixels();
  JpegPixels(JpegPixels&&) noexcept;
  JpegPixels& operator=(JpegPixels&&) noexcept;

  // Decodes at least `region`, into `memory`. The region is in the picture as stored, after
  // shrinking. The pixels have options.channels channels; pixels outside the region are
  // unspecified. Ignores options.orient.
  // REQUIRES: `info` is ReadJpegHeader(bytes); the region is not empty and lies in the picture.
  // kDataLoss: the file is damaged, or it is truncated and options.fill_truncated is false.
  // kInvalidArgument: too many scans.
  // kResourceExhausted: out of memory, which says nothing about `bytes`.
  // The region affects neither the status nor the pixels in it. It may affect notes.warnings,
  // because rows that are not read cause no warnings.
  absl::StatusOr<PicturePart> Decode(std::span<const uint8_t> bytes, const ImageInfo& info,
                                     const ImageDecodeOptions& options, const CropRect& region,
                                     ScratchMemory& memory, ImageNotes& notes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_JPEG_PIXELS_H_
