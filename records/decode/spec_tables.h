// Tables that the programs of one spec share.
#ifndef PENSTOCK_RECORDS_DECODE_SPEC_TABLES_H_
#define PENSTOCK_RECORDS_DECODE_SPEC_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "proto/decode_spec.pb.h"
#include "records/decode/bit_table.h"

namespace penstock {

// Returns the place where each output element is stored, in the order of the elements. REQUIRES:
// `bits` has been checked, and has `size` elements; output axis i is stored axis transpose[i].
std::vector<BitSource> BitSourcesOf(const v1::Bits& bits, size_t size,
                                    std::span<const uint32_t> transpose);

// The bit tables of one spec, which are the same for every wire dtype. Not thread-safe.
class SpecTables {
 public:
  // Returns the table for the spec's bits operation number `place`, counted from 0 without gaps. It
  // is built at the first call and shared by the programs. REQUIRES: `bits` has been checked and
  // has `size` elements; output axis i is stored axis transpose[i].
  std::shared_ptr<const BitTable> Get(size_t place, const v1::Bits& bits, size_t size,
                                      std::span<const uint32_t> transpose);
  size_t bytes() const;  // Memory use in bytes.

 private:
  std::vector<std::shared_ptr<const BitTable>> tables_;
  size_t num_byte_tables_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_RECORDS_DECODE_SPEC_TABLES_H_
