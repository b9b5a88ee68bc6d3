# penstock_library(name SOURCES ... [PUBLIC ...] [PRIVATE ...])
#   PUBLIC: libraries that appear in our headers. Alias: penstock::name.
# penstock_test(name [OPTIMIZED] SOURCES ... [DEPS ...] [LABELS ...] [PREFIX ...])
#   PREFIX: of the tests' names. OPTIMIZED: as libraries are; else its own files, not what they test,
#   are compiled without, which takes half the time.
# penstock_benchmark(name SOURCES ... [DEPS ...])
# penstock_fuzzer(name SOURCES ... [DEPS ...])   of the target `fuzzers`, with -DPENSTOCK_FUZZERS=ON
# penstock_binary(name SOURCES ... [DEPS ...])   installed to bin/

set(PENSTOCK_TEST_OPTIONS -O0)

function(penstock_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # All alike, so that all can use the same precompiled headers.
  target_compile_options(${target} PRIVATE -fPIC -pthread)
  # -ffp-contract=off: every server must produce the same bits.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow ${PENSTOCK_WERROR}
    -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # ccache knows a precompiled header by its bytes.
    target_compile_options(${target} PRIVATE -Wthread-safety "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12 reports these falsely inside libstdc++ and Abseil at -O2.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-maybe-uninitialized
      -Wno-stringop-overflow -Wno-array-bounds)
  endif()
  if(PENSTOCK_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PENSTOCK_SANITIZE}
      -fno-omit-frame-pointer -fno-sanitize-recover=all
      $<$<CXX_COMPILER_ID:Clang>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers_ignore.txt>)
    target_link_options(${target} PUBLIC -fsanitize=${PENSTOCK_SANITIZE})
  endif()
  if(PENSTOCK_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

function(penstock_library name)
  cmake_parse_arguments(A "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(penstock_${name} STATIC ${A_SOURCES})
  add_library(penstock::${name} ALIAS penstock_${name})
  set_target_properties(penstock_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(penstock_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
    $<INSTALL_INTERFACE:include/penstock>)
  target_link_libraries(penstock_${name} PUBLIC ${A_PUBLIC} PRIVATE ${A_PRIVATE})
  penstock_compile_options(penstock_${name})
  target_precompile_headers(penstock_${name} REUSE_FROM penstock_precompiled)
  set_property(GLOBAL APPEND PROPERTY PENSTOCK_LIBRARIES penstock_${name})
endfunction()

function(penstock_test name)
  if(NOT PENSTOCK_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "OPTIMIZED" "PREFIX" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ${A_DEPS} GTest::gmock GTest::gtest_main)
  penstock_compile_options(${name})
  if(A_OPTIMIZED)
    target_precompile_headers(${name} REUSE_FROM penstock_precompiled)
  else()
    target_compile_options(${name} PRIVATE ${PENSTOCK_TEST_OPTIONS})
    target_precompile_headers(${name} REUSE_FROM penstock_precompiled_tests)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${A_PREFIX}"
    PROPERTIES TIMEOUT 300 LABELS "${A_LABELS}")
endfunction()

function(penstock_benchmark name)
  if(NOT PENSTOCK_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS} benchmark::benchmark)
  penstock_compile_options(${name})
  target_precompile_headers(${name} REUSE_FROM penstock_precompiled)
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
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
endfunction()

function(penstock_binary name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  penstock_compile_options(${name})
  target_precompile_headers(${name} REUSE_FROM penstock_precompiled)
  if(PENSTOCK_PORTABLE)
    target_link_libraries(${name} PRIVATE penstock_older_glibc)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections
      -Wl,--as-needed -s)
  endif()
  install(TARGETS ${name} RUNTIME)
endfunction()
