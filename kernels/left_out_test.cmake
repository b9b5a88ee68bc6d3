# Checks that need more shared memory than a block has are left out by name, in the printed output
# and in the JSON, and do not fail the run. If one ran, the emulation would refuse its block and end
# the program. -DPROGRAM: kernels_emulated; -DJSON: a file to write.

# The checks that are left out, of those in bf16 with heads of 64, when a block has `most` bytes:
# "CHECK=BYTES".
function(expect_left_out most)
  execute_process(COMMAND ${PROGRAM} --check attention/bf16/64/ --most-shared ${most} --json ${JSON}
    OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${JSON} json)
  string(JSON found GET "${json}" left_out checks)
  set(expected)
  foreach(entry IN LISTS ARGN)
    string(REGEX MATCH "^(.*)=(.*)$" whole ${entry})
    set(name attention/bf16/64/${CMAKE_MATCH_1})
    set(bytes ${CMAKE_MATCH_2})
    list(APPEND expected
      "{\"name\": \"${name}\", \"shared_bytes\": ${bytes}, \"most_shared_bytes\": ${most}}")
    if(NOT printed MATCHES "left out ${name}: it needs ${bytes} bytes of shared memory, and a block has ${most}\n")
      message(SEND_ERROR "the output does not say that ${name} was left out:\n${printed}")
    endif()
  endforeach()
  list(JOIN expected ", " expected)
  string(JSON same EQUAL "${found}" "[${expected}]")
  if(NOT same)
    message(SEND_ERROR "left out:\n${found}\nnot [${expected}]")
  endif()
  string(JSON checks LENGTH "${json}" checks)
  if(checks EQUAL 0)
    message(SEND_ERROR "no check was run")
  endif()
endfunction()

expect_left_out(232448)
expect_left_out(166912 256_tokens/backward=167936)
expect_left_out(101376 256_tokens/forward=110592 256_tokens/backward=167936)
# Only the bias gradient makes two of them too large.
expect_left_out(60000 bias/backward=71680 144_tokens_dropout/forward=62208
  144_tokens_dropout/backward=95616 256_tokens/forward=110592 256_tokens/backward=167936
  bias_dropout/backward=71680)
