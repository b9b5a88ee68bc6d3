# -DPENSTOCK_ONLY=kernels, as on a machine that has only nvcc and CMake: it configures, a kernel
# compiles without -Werror, and the report of ptxas is kept. -DSOURCE, -DBUILD: folders.
file(REMOVE_RECURSE ${BUILD})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G "Unix Makefiles"
  -DPENSTOCK_ONLY=kernels -DPENSTOCK_CUDA=ON COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD}/kernels --target cuda/pool.cu.o
  COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${BUILD}/kernels/CMakeFiles/penstock_kernels.dir/flags.make errors REGEX "Werror")
if(errors)
  message(FATAL_ERROR "with -DPENSTOCK_ONLY=kernels, warnings must not be errors: ${errors}")
endif()
set(report ${BUILD}/kernels/CMakeFiles/penstock_kernels.dir/cuda/pool.cu.o.ptxas)
file(STRINGS ${report} kernels REGEX "Compiling entry function")
if(NOT kernels)
  message(FATAL_ERROR "${report} has no \"Compiling entry function\"")
endif()
file(REMOVE_RECURSE ${BUILD})
