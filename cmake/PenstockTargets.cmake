# penstock_library(name [COLD] SOURCES ... [PUBLIC ...] [PRIVATE ...])
#   PUBLIC: libraries that appear in our headers. Alias: penstock::name. COLD: the library computes
#   little and consists mostly of others' templates. It is optimized less, which takes two thirds of
#   the time; with sanitizers not at all, which takes half the time.
# penstock_benchmark(name SOURCES ... [DEPS ...])
# penstock_fuzzer(name SOURCES ... [DEPS ...])   in the target `fuzzers`, with -DPENSTOCK_FUZZERS=ON
# penstock_program(name [COLD] SOURCES ... [DEPS ...])  for people who change or measure Penstock
# penstock_test(name ...) is in cmake/PenstockTests.cmake.
# penstock_binary(name SOURCES ... [DEPS ...])   installed to bin/. Once built, it writes its man
#   pages and shell completion to share/ of the build folder, which are installed too.

set(PENSTOCK_TEST_OPTIONS -O0)
set(PENSTOCK_COLD_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O1>)

function(penstock_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # All targets have these flags, so that all can use the same precompiled headers.
  target_compile_options(${target} PRIVATE -fPIC -pthread)
  # -ffp-contract=off: every server must produce the same bits.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow ${PENSTOCK_WERROR}
    -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # -fno-pch-timestamp: ccache identifies a precompiled header by its bytes.
    target_compile_options(${target} PRIVATE -Wthread-safety "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12 reports these falsely inside libstdc++ and Abseil, depending on the level.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-maybe-uninitialized
      -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  endif()
  if(PENSTOCK_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PENSTOCK_SANITIZE}
      -fno-omit-frame-pointer -fno-sanitize-recover=all
      $<$<CXX_COMPILER_ID:Clang>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers_ignore.txt>)
    target_link_options(${target} PUBLIC -fsanitize=${PENSTOCK_SANITIZE})
  endif()
endfunction()

# Makes a target reuse the precompiled headers that are compiled with the same options.
function(penstock_reuse_precompiled target cold)
  if(NOT cold OR (PENSTOCK_SANITIZE AND NOT PENSTOCK_TESTS))
    target_precompile_headers(${target} REUSE_FROM penstock_precompiled)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)
  if(PENSTOCK_SANITIZE)
    target_compile_options(${target} PRIVATE ${PENSTOCK_TEST_OPTIONS})
    target_precompile_headers(${target} REUSE_FROM penstock_precompiled_tests)
  else()
    target_compile_options(${target} PRIVATE ${PENSTOCK_COLD_OPTIONS})
    target_precompile_headers(${target} REUSE_FROM penstock_precompiled_cold)
  endif()
endfunction()

function(penstock_library name)
  cmake_parse_arguments(A "COLD" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(penstock_${name} STATIC ${A_SOURCES})
  add_library(penstock::${name} ALIAS penstock_${name})
  set_target_properties(penstock_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(penstock_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(penstock_${name} PUBLIC ${A_PUBLIC} PRIVATE ${A_PRIVATE})
  penstock_compile_options(penstock_${name})
  penstock_reuse_precompiled(penstock_${name} ${A_COLD})
  set_property(GLOBAL APPEND PROPERTY PENSTOCK_LIBRARIES penstock_${name})
  if(PENSTOCK_TSAN_ONLY)  # Builds only the libraries that a test links.
    set_target_properties(penstock_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

function(penstock_program name)
  cmake_parse_arguments(A "COLD" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  penstock_compile_options(${name})
  penstock_reuse_precompiled(${name} ${A_COLD})
endfunction()

function(penstock_benchmark name)
  if(PENSTOCK_BENCHMARKS)
    penstock_program(${name} ${ARGN} benchmark::benchmark)
  endif()
endfunction()

# Lets libFuzzer see the branches of a library and of the libraries below it.
set(PENSTOCK_SHOW_BRANCHES
  -fsanitize-coverage=edge,indirect-calls,inline-8bit-counters,pc-table,trace-cmp)
function(penstock_show_branches library)
  get_target_property(target ${library} ALIASED_TARGET)
  get_target_property(type ${target} TYPE)
  get_target_property(shown ${target} PENSTOCK_SHOWS_BRANCHES)
  if(shown OR type STREQUAL "INTERFACE_LIBRARY")  # An interface library has nothing to compile.
    return()
  endif()
  set_target_properties(${target} PROPERTIES PENSTOCK_SHOWS_BRANCHES ON)
  target_compile_options(${target} PRIVATE ${PENSTOCK_SHOW_BRANCHES})
  get_target_property(below ${target} LINK_LIBRARIES)
  list(FILTER below INCLUDE REGEX "^penstock::")
  foreach(next IN LISTS below)
    penstock_show_branches(${next})
  endforeach()
endfunction()

function(penstock_fuzzer name)
  if(NOT PENSTOCK_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  penstock_compile_options(${name})
  target_precompile_headers(${name} REUSE_FROM penstock_precompiled)
  target_compile_options(${name} PRIVATE ${PENSTOCK_SHOW_BRANCHES})
  foreach(library IN LISTS A_DEPS)
    penstock_show_branches(${library})
  endforeach()
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
endfunction()

# For PENSTOCK_PORTABLE: a stripped program that needs only glibc, or nothing with PENSTOCK_STATIC.
function(penstock_link_portably name)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed -s)
  if(PENSTOCK_STATIC)
    target_link_libraries(${name} PRIVATE penstock_no_modules)
    target_link_options(${name} PRIVATE -static-pie)
  else()
    target_link_libraries(${name} PRIVATE penstock_older_glibc)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

function(penstock_binary name)
  penstock_program(${name} COLD ${ARGN})
  if(PENSTOCK_PORTABLE)
    penstock_link_portably(${name})
  endif()
  install(TARGETS ${name} RUNTIME COMPONENT programs)
  if(NOT PENSTOCK_SANITIZE)
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
      COMMAND ${name} --write-shell-files ${PROJECT_BINARY_DIR}/share)
  endif()
endfunction()
