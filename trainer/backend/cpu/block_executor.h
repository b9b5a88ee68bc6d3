// Runs one block program in one thread.
#ifndef PENSTOCK_TRAINER_BACKEND_CPU_BLOCK_EXECUTOR_H_
#define PENSTOCK_TRAINER_BACKEND_CPU_BLOCK_EXECUTOR_H_

#include <cstddef>
#include <cstdint>

#include "trainer/backend/block_memory.h"
#include "trainer/backend/cpu/attention_products.h"
#include "trainer/backend/cpu/gemm.h"
#include "trainer/backend/cpu/kernels.h"
#include "trainer/profile/tracer.h"
#include "trainer/step/program.h"

namespace penstock {

// Number of floats of BlockMemory::scratch that a BlockExecutor of the program needs.
size_t ScratchOf(const StepProgram& program);

// Borrows the kernels, the program, and the tracer of its operations, which may be null.
// Thread-compatible. Several threads may run one executor if their memories share only parameters.
class BlockExecutor {
 public:
  BlockExecutor(const StepProgram& program, const CpuKernels& kernels, GemmEngine gemm,
                Tracer* tracer = nullptr, uint32_t track = 0)
      : program_(program),
        kernels_(kernels),
        products_(kernels, gemm),
        gemm_(gemm),
        tracer_(tracer),
        track_(track) {}

  // REQUIRES: samples <= program.rows.
  void Run(const BlockMemory<float>& memory, size_t samples) const {
    Run(memory, samples, 0, num_ops());
  }
  // Runs operations [first, last) of the program. The earlier ones must have been run.
  void Run(const BlockMemory<float>& memory, size_t samples, size_t first, size_t last) const;
  size_t num_ops() const { return program_.ops.size(); }

 private:
  void RunOp(const Op& op, const BlockMemory<float>& memory, size_t samples) const;
  void Linear(const Op& op, const BlockMemory<float>& memory, size_t rows) const;
  void LinearBackwardInput(const Op& op, const BlockMemory<float>& memory, size_t rows) const;
  void LinearBackwardWeight(const Op& op, const BlockMemory<float>& memory, size_t rows) const;

  const StepProgram& program_;
  const CpuKernels& kernels_;
  AttentionProducts products_;
  GemmEngine gemm_;
  Tracer* tracer_;
  uint32_t track_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRAINER_BACKEND_CPU_BLOCK_EXECUTOR_H_
