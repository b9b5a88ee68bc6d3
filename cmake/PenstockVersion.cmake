# Makes ${PROJECT_BINARY_DIR}/penstock_version.h with PENSTOCK_VERSION and PENSTOCK_COMMIT.
#
# If included, this file adds the target penstock_version_header, which checks the commit at every
# build and rewrites the header only when it changes. A target that includes the header depends on
# it through penstock::version. Run with -P, this file is that check. A checkout without .git
# reports "unknown" unless -DPENSTOCK_COMMIT names the commit.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(PENSTOCK_COMMIT "" CACHE STRING "Commit to report where there is no .git")
  add_custom_target(penstock_version_header
    COMMAND ${CMAKE_COMMAND}
      -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
      -DHEADER=${PROJECT_BINARY_DIR}/penstock_version.h
      -DVERSION=${PROJECT_VERSION}
      -DCOMMIT=${PENSTOCK_COMMIT}
      -P ${CMAKE_CURRENT_LIST_FILE}
    BYPRODUCTS ${PROJECT_BINARY_DIR}/penstock_version.h
    COMMENT "Checking the commit" VERBATIM)
  add_library(penstock_version INTERFACE)
  add_library(penstock::version ALIAS penstock_version)
  target_include_directories(penstock_version INTERFACE ${PROJECT_BINARY_DIR})
  add_dependencies(penstock_version penstock_version_header)
  return()
endif()

# A source tree unpacked inside another repository must not report that repository's commit.
if(COMMIT STREQUAL "" AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT COMMIT STREQUAL "" AND NOT changes STREQUAL "")
    string(APPEND COMMIT "-modified")
  endif()
endif()
if(COMMIT STREQUAL "")
  set(COMMIT "unknown")
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT [[
#ifndef PENSTOCK_VERSION_H_
#define PENSTOCK_VERSION_H_

#define PENSTOCK_VERSION "@VERSION@"
#define PENSTOCK_COMMIT "@COMMIT@"

#endif  // PENSTOCK_VERSION_H_
]] @ONLY)
