# Checks the ptxas report of each kernel: no spills, no stack, no static shared memory, and no more
# registers than the cap. -DOBJECTS="a.o;b.o": the report of X is X.ptxas. -DCODE="sm_80;sm_90a":
# the architectures that the objects must contain code for.

# "NAME=MOST": the first entry that matches "MANGLED for CODE" counts. With one register more, one
# block fewer would fit a multiprocessor of 65,536 registers (attention: 128 threads for 64 tokens;
# others: 256). Float attention serves for comparison only and may use all registers.
set(registers
  "AttentionBackwardKernelINS_4Bf16ELi(16|32)ELb0ELj64E=96"
  "AttentionBackwardKernelINS_4Bf16ELi64ELb0ELj64E=128"
  "AttentionBackwardKernelINS_4Bf16ELi(16|32)ELb1ELj64E=128"
  "AttentionBackwardKernelINS_4Bf16ELi64ELb1ELj64E=168"
  "AttentionBackwardKernelINS_4Bf16ELi16ELb0E=128" "AttentionBackwardKernelINS_4Bf16ELi32ELb0E=168"
  "AttentionBackwardKernel=255"
  "AttentionKernelINS_4Bf16ELi16ELb0ELj64E=64" "AttentionKernelINS_4Bf16ELi32ELb0ELj64E=80"
  "AttentionKernelINS_4Bf16ELi(16|32)ELb1ELj64E=96" "AttentionKernelINS_4Bf16ELi64E.*Lj64E=128"
  "AttentionKernelINS_4Bf16ELi16ELb0E=80" "AttentionKernelINS_4Bf16ELi32ELb0E=96"
  "AttentionKernelINS_4Bf16ELi64ELb0E=128" "AttentionKernelIf.* for sm_80=184"
  "AttentionKernel=176"
  "LayerNormBackwardKernelI.*Li(8|16|32)ELi1E=80" "LayerNormBackwardKernelI.*Li32ELi2E=128"
  "LayerNormBackwardKernel=255" "LayerNormKernelI.*Li(8|16|32)ELi1E=32"
  "LayerNormKernelIfLi32ELi2E=32" "LayerNormKernelIfLi32ELi4E=48" "LayerNormKernelI.*Li32ELi2E=48"
  "LayerNormKernel=64" "=48")

# Sets `result` to the most registers that `kernel` may use.
function(most_registers kernel result)
  foreach(entry IN LISTS registers)
    string(REGEX MATCH "^(.*)=([0-9]+)$" whole "${entry}")
    set(most ${CMAKE_MATCH_2})
    if(CMAKE_MATCH_1 STREQUAL "" OR kernel MATCHES "${CMAKE_MATCH_1}")
      set(${result} ${most} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(most_static_shared 0)
set(kernels 0)
set(seen "")
foreach(object IN LISTS OBJECTS)
  if(NOT EXISTS ${object}.ptxas)
    message(FATAL_ERROR "${object}.ptxas: no report; build penstock_kernels first")
  endif()
  file(STRINGS ${object}.ptxas lines)
  foreach(line IN LISTS lines)
    if(line MATCHES "Compiling entry function '([^']*)' for '([^']*)'")
      set(kernel "${CMAKE_MATCH_1} for ${CMAKE_MATCH_2}")
      list(APPEND seen ${CMAKE_MATCH_2})
      math(EXPR kernels "${kernels} + 1")
    elseif(line MATCHES "([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores")
      if(CMAKE_MATCH_1 GREATER 0 OR CMAKE_MATCH_2 GREATER 0)
        message(SEND_ERROR "${kernel}: ${line}")
      endif()
    elseif(line MATCHES "Used ([0-9]+) registers")
      set(used ${CMAKE_MATCH_1})
      most_registers("${kernel}" most)
      if(used GREATER most)
        message(SEND_ERROR "${kernel}: ${used} registers, at most ${most}")
      endif()
      if(line MATCHES "([0-9]+) bytes smem" AND CMAKE_MATCH_1 GREATER most_static_shared)
        message(SEND_ERROR "${kernel}: ${CMAKE_MATCH_1} bytes of static shared memory")
      endif()
    endif()
  endforeach()
endforeach()
if(kernels EQUAL 0)
  message(FATAL_ERROR "no kernel in ${OBJECTS}")
endif()
list(REMOVE_DUPLICATES seen)
foreach(code IN LISTS CODE)
  list(FIND seen ${code} at)
  if(at EQUAL -1)
    message(FATAL_ERROR "no kernel for ${code} in ${OBJECTS}")
  endif()
endforeach()
message(STATUS "${kernels} kernels for ${seen} within their caps")
