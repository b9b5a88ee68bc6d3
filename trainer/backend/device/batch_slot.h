// Layout of a batch on its way to a device: one allocation on the device and one like it on the
// host.
#ifndef PENSTOCK_TRAINER_BACKEND_DEVICE_BATCH_SLOT_H_
#define PENSTOCK_TRAINER_BACKEND_DEVICE_BATCH_SLOT_H_

#include <cstddef>
#include <cstdint>

#include "kernels/numeric/counter_random.h"
#include "kernels/reference/adamw.h"
#include "trainer/backend/batch_rows.h"
#include "trainer/step/input_format.h"
#include "trainer/step/program.h"

namespace penstock {

// Places of a batch's parts in a slot. Every virtual shard has `rows` rows, the last of which may
// be padding. Pure data.
class SlotLayout {
 public:
  SlotLayout() = default;
  // `sites` is the number of dropout sites of the model.
  SlotLayout(InputFormat format, size_t shards, size_t rows, size_t sites = 0);

  size_t bytes() const { return bytes_; }

  // Offsets of shard `shard`, in bytes.
  size_t input(size_t shard) const { return shard * rows_ * format_.input_bytes; }
  size_t flags(size_t shard) const { return flags_ + shard * rows_ * format_.flags_bytes; }
  size_t targets(size_t shard) const { return targets_ + shard * rows_ * sizeof(float); }
  size_t weights(size_t shard) const { return weights_ + shard * rows_ * sizeof(float); }
  size_t draws(size_t shard) const { return draws_ + shard * sites_ * sizeof(DropoutDraw); }
  size_t update() const { return update_; }

  // Put rows.rows <= rows() rows into shard `shard` of the slot at `slot`: their input, and the
  // data behind it. Each row has `weight` in the loss. The remaining rows are zeros of weight 0.
  void FillInput(const BatchRows& rows, size_t shard, char* slot) const;
  void FillRest(const BatchRows& rows, size_t shard, float weight, char* slot) const;
  void SetUpdate(const reference::UpdateScalars& update, char* slot) const;
  // Sets the dropout draws of shard `shard`, which begins with row `first_row` of the global batch.
  // `random_key` is the batch's key.
  void SetDraws(uint64_t random_key, size_t first_row, size_t shard, char* slot) const;

  size_t rows() const { return rows_; }
  size_t shards() const { return shards_; }

 private:
  InputFormat format_ = kPackedBoards;
  size_t shards_ = 0, rows_ = 0, sites_ = 0;
  size_t flags_ = 0, targets_ = 0, weights_ = 0, draws_ = 0, update_ = 0, bytes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_DEVICE_BATCH_SLOT_H_
