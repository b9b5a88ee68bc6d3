# Which tests are configured, and unit tests.
#
# -DPENSTOCK_TESTS is a list of kinds:
#   unit     every test of classes
#   release  only the tests of classes whose result depends on the build: sanitizers omit or shorten
#            them, or the tested code has vector instructions or inlined arithmetic
#   process  tests of whole programs
#   python   tests of the Python package
# ON stands for unit, process and python; OFF for none. Each test of ctest has its kind as a label;
# unit and release share the label `unit`. Tests that take long, and run only in `./check --all`,
# have the label `long` too.
set(PENSTOCK_TESTS ON CACHE STRING "ON, OFF, or a list of: unit (or release), process, python")

if(PENSTOCK_TESTS STREQUAL "ON")
  set(PENSTOCK_TESTS unit process python)
endif()
foreach(kind UNIT RELEASE PROCESS PYTHON)
  string(TOLOWER ${kind} name)
  set(PENSTOCK_${kind}_TESTS OFF)
  if(name IN_LIST PENSTOCK_TESTS)
    set(PENSTOCK_${kind}_TESTS ON)
  endif()
endforeach()
set(unknown ${PENSTOCK_TESTS})
list(REMOVE_ITEM unknown unit release process python OFF)
if(unknown)
  message(FATAL_ERROR "PENSTOCK_TESTS has no kind \"${unknown}\": it is ON, OFF, or a list of unit, "
    "release, process and python")
endif()

# penstock_test(name [IN_RELEASE | EMULATED] [OPTIMIZED] [SEQUENTIAL] SOURCES ... [DEPS ...]
#               [LABELS ...] [PREFIX ...])
#   Each of its suites is a test of ctest (cmake/add_suites.cmake). PREFIX begins the names of these
#   tests. IN_RELEASE: the test belongs to the kind `release`. EMULATED: it does too; it runs on the
#   emulated GPU, which sanitizers slow down so much that only `./check --all` runs it with them.
#   OPTIMIZED: compiles the test's own files with -O1. By default they are compiled without
#   optimization, which takes half the time; the tested code is optimized either way. SEQUENTIAL: the
#   tested code has no threads, so TSan does not build this test.
#   A test of another kind than those in PENSTOCK_TESTS can be built by its name, for
#   tests/mutants.py; `all` and ctest leave it out. The target `unit_tests` builds all others.
add_custom_target(unit_tests ALL)
function(penstock_test name)
  cmake_parse_arguments(A "IN_RELEASE;EMULATED;OPTIMIZED;SEQUENTIAL" "PREFIX" "SOURCES;DEPS;LABELS"
    ${ARGN})
  if(NOT PENSTOCK_TESTS OR (A_SEQUENTIAL AND PENSTOCK_TSAN_ONLY))
    return()
  endif()
  add_executable(${name} ${A_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ${A_DEPS} GTest::gmock GTest::gtest_main)
  if(PENSTOCK_TSAN_ONLY)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/tsan_suppressions.cc)
  endif()
  penstock_compile_options(${name})
  if(A_OPTIMIZED)
    set(cold ON)
    if(PENSTOCK_SANITIZE)  # Their cold code is not optimized.
      set(cold OFF)
    endif()
    penstock_reuse_precompiled(${name} ${cold})
    # A group of 12 files would take 30 s to compile after an edit.
    set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 4)
  else()
    set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)
    target_compile_options(${name} PRIVATE ${PENSTOCK_TEST_OPTIONS})
    target_precompile_headers(${name} REUSE_FROM penstock_precompiled_tests)
  endif()
  if(A_EMULATED AND PENSTOCK_SANITIZE AND PENSTOCK_UNIT_TESTS)
    penstock_run_suites(${name} "${A_PREFIX}" "long;${A_LABELS}")
  elseif(PENSTOCK_UNIT_TESTS OR (PENSTOCK_RELEASE_TESTS AND (A_IN_RELEASE OR A_EMULATED)))
    add_dependencies(unit_tests ${name})
    penstock_run_suites(${name} "${A_PREFIX}" "unit;${A_LABELS}")
  else()
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Lets ctest ask a GoogleTest binary for its suites, once it is built.
function(penstock_run_suites name prefix labels)
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  file(CONFIGURE OUTPUT ${suites} CONTENT [[
include(@PROJECT_SOURCE_DIR@/cmake/add_suites.cmake)
penstock_add_suites(@CMAKE_RUNTIME_OUTPUT_DIRECTORY@/@name@ "@prefix@" @CMAKE_CURRENT_BINARY_DIR@
  "@labels@")
]] @ONLY)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()
