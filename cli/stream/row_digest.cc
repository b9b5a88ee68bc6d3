#include "cli/stream/row_digest.h"

namespace penstock {

void RowDigest::Add(const Batch& batch) {
  rows_.Fill(batch);
  hash_.Update(rows_.all());
}

void RecordDigest::Add(const Batch& batch) {
  rows_.Fill(batch, /*ids=*/true);
  for (size_t row = 0; row < batch.rows(); ++row) Add(Sha256::Of(rows_.row(row)));
}

void RecordDigest::Add(const Sha256::Digest& digest) {
  unsigned carry = 0;
  for (size_t i = sum_.size(); i-- > 0;) {
    const unsigned sum = sum_[i] + digest[i] + carry;
    sum_[i] = static_cast<uint8_t>(sum);
    carry = sum >> 8;
  }
}

std::string RecordDigest::Hex() const { return Sha256::Hex(sum_); }

}  // namespace penstock
