// Reads a file that is one encoded image as one record.
#ifndef PENSTOCK_RECORDS_CONTAINER_IMAGE_FILE_H_
#define PENSTOCK_RECORDS_CONTAINER_IMAGE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "records/container/record_cutter.h"
#include "records/format/example_writer.h"

namespace penstock {

// The payload is a tf.train.Example with these features:
//   image/class/label  int64
//   image/encoded      the bytes of the file
//   image/filename     bytes: the name after the last slash of `path`
// Not thread-safe.
class ImageFileCutter final : public RecordCutter {
 public:
  ImageFileCutter(absl::string_view path, uint32_t label)
      : name_(path.substr(path.rfind('/') + 1)), label_(label) {}

  absl::StatusOr<Cut> Next(std::span<const uint8_t> bytes, bool at_end) override;

 private:
  const std::string name_;
  const uint32_t label_;
  bool taken_ = false;
  ExampleBuilder builder_;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_CONTAINER_IMAGE_FILE_H_
