// Makes records from the images of a folder.
#ifndef PENSTOCK_CLI_PACK_IMAGE_RECORDS_H_
#define PENSTOCK_CLI_PACK_IMAGE_RECORDS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cli/pack/image_shrinker.h"
#include "cli/pack/record_source.h"
#include "records/dataset/image_folder.h"

namespace penstock {

// Makes a tf.train.Example from each file, with the features
//   image/class/label  int64, the class
//   image/class/text   bytes, its name
//   image/encoded      bytes: the file's, or those that ImageShrinker makes from a large image
//   image/filename     bytes, the path relative to the folder
//
// A record is invalid if ProbeImage() refuses the file, if an image that is decoded cannot be
// decoded, or if the record would be longer than a chunk may be. Large images are decoded, and with
// `decode_all` all images. It is an error if the file cannot be read, or has
// changed since it was listed.
class ImageRecords : public RecordSource {
 public:
  // Borrows `folder`.
  ImageRecords(const ImageFolder& folder, const ShrinkOptions& options, bool decode_all);

  uint64_t size() const override { return folder_.files.size(); }
  uint64_t estimated_bytes() const override { return estimated_bytes_; }
  // Returns a hash of the options, the classes, and the path, size and time of each file.
  std::string key() const override { return key_; }
  std::string Name(uint64_t index) const override;
  std::unique_ptr<RecordMaker> NewMaker() const override;

 private:
  const ImageFolder& folder_;
  const ShrinkOptions options_;
  const bool decode_all_;
  uint64_t estimated_bytes_ = 0;
  std::string key_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLI_PACK_IMAGE_RECORDS_H_
