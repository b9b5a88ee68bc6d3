# Decides whether the CUDA kernels are built: -DPENSTOCK_CUDA=AUTO (if nvcc is found and this machine
# has a GPU), NVCC (if nvcc is found), ON or OFF. Looks for nvcc in $CUDACXX, $PATH, $CUDA_HOME and
# /usr/local/cuda. Sets PENSTOCK_WITH_CUDA and defines penstock_cuda_library(name SOURCES ...).
#
# Default code: sm_90a (Hopper), and PTX that the drivers of other GPUs from sm_80 on compile.
set(PENSTOCK_CUDA AUTO CACHE STRING
  "Build the CUDA kernels: AUTO (nvcc and a GPU are here), NVCC (nvcc is here), ON or OFF")
set_property(CACHE PENSTOCK_CUDA PROPERTY STRINGS AUTO NVCC ON OFF)
set(PENSTOCK_CUDA_ARCHITECTURES "90a-real;80-virtual" CACHE STRING
  "As CMAKE_CUDA_ARCHITECTURES takes them; the preset portable and the trainer's image add 80-real")

set(PENSTOCK_WITH_CUDA OFF)
if(PENSTOCK_CUDA STREQUAL "AUTO" AND NOT EXISTS /dev/nvidiactl
    AND NOT EXISTS /proc/driver/nvidia/version AND NOT EXISTS /dev/dxg)
  message(STATUS "CUDA: not built, because this machine has no GPU; -DPENSTOCK_CUDA=ON builds it")
elseif(PENSTOCK_CUDA)
  find_program(PENSTOCK_NVCC NAMES $ENV{CUDACXX} nvcc
    HINTS $ENV{CUDA_HOME}/bin PATHS /usr/local/cuda/bin)
  if(PENSTOCK_NVCC)
    set(PENSTOCK_WITH_CUDA ON)
  elseif(PENSTOCK_CUDA MATCHES "^(AUTO|NVCC)$")
    message(STATUS "CUDA: not built, because nvcc was not found (README.md, \"GPUs\"); -DPENSTOCK_CUDA=ON makes this an error")
  else()
    message(FATAL_ERROR "PENSTOCK_CUDA is ON, but there is no nvcc in $CUDACXX, $PATH, $CUDA_HOME/bin "
      "or /usr/local/cuda/bin: install NVIDIA's CUDA toolkit (12.4 or newer) or pass -DPENSTOCK_CUDA=OFF")
  endif()
else()
  message(STATUS "CUDA: left out by PENSTOCK_CUDA=OFF")
endif()

if(PENSTOCK_WITH_CUDA)
  set(CMAKE_CUDA_COMPILER ${PENSTOCK_NVCC})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  set(CMAKE_CUDA_ARCHITECTURES ${PENSTOCK_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
  enable_language(CUDA)
  # CMake 3.25.1, which Debian 12 has, sets a property of this target, but CUDA 13 lacks the target.
  if(NOT TARGET CUDA::nvToolsExt)
    add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
  endif()
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "CUDA: nvcc ${CMAKE_CUDA_COMPILER_VERSION} (${PENSTOCK_NVCC}), code ${CMAKE_CUDA_ARCHITECTURES}")
endif()

# Adds a static library of .cu files. ptxas' report of each kernel's registers and memory is kept
# beside its object, in OBJECT.ptxas.
function(penstock_cuda_library name)
  cmake_parse_arguments(A "" "" "SOURCES" ${ARGN})
  add_library(penstock_${name} STATIC ${A_SOURCES})
  add_library(penstock::${name} ALIAS penstock_${name})
  target_include_directories(penstock_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(penstock_${name} PUBLIC CUDA::cudart_static)
  set(launcher ${PROJECT_SOURCE_DIR}/cmake/keep_ptxas_report.sh ${CMAKE_CUDA_COMPILER_LAUNCHER})
  # CMake 3.25 does not know that nvcc supports C++20.
  set_target_properties(penstock_${name} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED OFF
    CUDA_COMPILER_LAUNCHER "${launcher}")
  if(PENSTOCK_WERROR)
    set(errors -Werror=all-warnings)
    set(host_errors -Werror,)
  endif()
  target_compile_options(penstock_${name} PRIVATE
    -std=c++20 ${errors} -Xptxas=-v -Xcompiler=-Wall,-Wextra,${host_errors}-ffp-contract=off)
endfunction()
