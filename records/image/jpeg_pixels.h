// Pixels of a JPEG, by libjpeg-turbo.
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

// The accurate integer DCT and fancy upsampling, which every version and SIMD path of libjpeg-turbo
// computes alike. Blocks of a progressive file that lacks scans are not smoothed: versions differ
// there.
//
// Decodes a region alone if the file has one scan and its end marker follows that scan
// (HoldsOneWholeScan()). Rows above the region are entropy-decoded only, rows below it are not
// read, and columns beside it are neither transformed nor converted. Damage within the data of a
// scan never fails: the library warns and goes on to the end marker. So such a file fails in its
// headers or not at all, whatever the region. Every other file is decoded whole: one with several
// scans, one that is cut, one with other markers between its scan and its end; and a shrunk one
// with more than four samples of luma for one of chroma.
//
// Not thread-safe.
class JpegPixels {
 public:
  JpegPixels();
  ~JpegPixels();
  JpegPixels(JpegPixels&&) noexcept;
  JpegPixels& operator=(JpegPixels&&) noexcept;

  // Decodes at least `region` of the picture as stored, shrunk and with options.channels, into
  // `memory`.
  // Ignores options.orient. Pixels outside the region are unspecified. `info` is what
  // ReadJpegHeader() said of `bytes`. REQUIRES: the region is not empty and lies in the picture.
  // kDataLoss: damaged, or cut (unless options.fill_truncated). kInvalidArgument: too many scans.
  // kResourceExhausted: no memory, which says nothing about `bytes`.
  // The region changes neither the status nor the pixels in it. It may change notes.warnings, since
  // rows that are not read cause none.
  absl::StatusOr<PicturePart> Decode(std::span<const uint8_t> bytes, const ImageInfo& info,
                                     const ImageDecodeOptions& options, const CropRect& region,
                                     ScratchMemory& memory, ImageNotes& notes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_IMAGE_JPEG_PIXELS_H_
