# Precompiles headers of other projects that most files include. They take more than half of the
# compiler's time. Never add a header of ours: an edit must recompile only the files that include
# it.
#
# A file still includes all that it uses: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON and the preset
# `portable` build without precompiled headers. A file whose compiler flags differ sets
# SKIP_PRECOMPILE_HEADERS ON; without that it fails to compile, by -Winvalid-pch.
set(PENSTOCK_PRECOMPILED
  <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <fstream>
  <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <string> <thread> <utility>
  <variant> <vector>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_join.h>
  <absl/time/time.h>)
# Code of programs (COLD) and tests use JSON. CLI11's header is not here. It defines objects, so each
# file that includes it compiles their code again, which takes 2 s.
set(PENSTOCK_PRECOMPILED_COLD ${PENSTOCK_PRECOMPILED} <nlohmann/json.hpp>)

# penstock_precompiled_headers(name HEADERS ... [LIBRARIES ...] [OPTIONS ...])
#   Targets that are compiled with the same options reuse these headers.
function(penstock_precompiled_headers name)
  cmake_parse_arguments(A "" "" "HEADERS;LIBRARIES;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(${name} PRIVATE ${A_LIBRARIES})
  penstock_compile_options(${name})
  target_compile_options(${name} PRIVATE ${A_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${A_HEADERS})
endfunction()

penstock_precompiled_headers(penstock_precompiled HEADERS ${PENSTOCK_PRECOMPILED})
if(NOT PENSTOCK_SANITIZE)
  penstock_precompiled_headers(penstock_precompiled_cold
    HEADERS ${PENSTOCK_PRECOMPILED_COLD}
    OPTIONS ${PENSTOCK_COLD_OPTIONS})
endif()
if(PENSTOCK_TESTS)
  penstock_precompiled_headers(penstock_precompiled_tests
    HEADERS ${PENSTOCK_PRECOMPILED_COLD} <gmock/gmock.h> <gtest/gtest.h>
    LIBRARIES GTest::gmock
    OPTIONS ${PENSTOCK_TEST_OPTIONS})
endif()
