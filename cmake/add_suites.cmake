# ctest includes this file, which adds each suite of a GoogleTest binary as a test. Starting a
# process for each single test would take longer than most tests.

# penstock_add_suites(binary prefix folder labels) asks the binary for its suites. It adds each as a
# test, which is called PREFIX and the suite's name and runs in `folder`. A suite that passed and
# skipped a test is "Skipped". The time-out is for tests that hang: a suite takes seconds, or
# minutes if twenty others compete for its core.
function(penstock_add_suites binary prefix folder labels)
  if(NOT EXISTS ${binary})
    get_filename_component(name ${binary} NAME)
    add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)
    set_tests_properties(${name}_NOT_BUILT PROPERTIES LABELS "${labels}")
    return()
  endif()
  execute_process(COMMAND ${binary} --gtest_list_tests TIMEOUT 120 OUTPUT_VARIABLE listed
    COMMAND_ERROR_IS_FATAL ANY)
  # A suite is listed as "Suite." or "Suite/0.  # TypeParam = int"; its tests are indented.
  string(REGEX MATCHALL "(^|\n)[^ \n]+\\.( |\n)" suites "${listed}")
  foreach(suite IN LISTS suites)
    string(REGEX REPLACE "^\n|\\.[ \n]$" "" suite "${suite}")
    add_test("${prefix}${suite}" ${binary} "--gtest_filter=${suite}.*")
    set_tests_properties("${prefix}${suite}" PROPERTIES WORKING_DIRECTORY ${folder} TIMEOUT 600
      LABELS "${labels}" SKIP_REGULAR_EXPRESSION "listed below:\n(\\[  SKIPPED \\] [^\n]*\n)+$")
  endforeach()
endfunction()
