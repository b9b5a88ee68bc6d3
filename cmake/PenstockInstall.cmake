# cmake --install puts the programs into bin/, and what find_package(Penstock) needs beside them:
# the libraries of records/, client/ and proto/ with their headers, and of trainer/comm those that
# know no GPU.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(all_libraries GLOBAL PROPERTY PENSTOCK_LIBRARIES)
foreach(library IN LISTS all_libraries)
  get_target_property(folder ${library} SOURCE_DIR)
  if(folder MATCHES "^${PROJECT_SOURCE_DIR}/(records|client|proto)" AND
      NOT folder MATCHES "/client/(flags|metrics)$")  # They would ask for CLI11, prometheus-cpp.
    list(APPEND exported ${library})
  endif()
endforeach()
list(APPEND exported penstock_trainer_comm penstock_trainer_ranks)

install(TARGETS ${exported} EXPORT PenstockTargets ARCHIVE)
install(EXPORT PenstockTargets NAMESPACE penstock::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)
foreach(folder records client proto trainer/comm)
  cmake_path(GET folder PARENT_PATH parent)
  foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    install(DIRECTORY ${root}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/${parent}
      FILES_MATCHING PATTERN "*.h" PATTERN CMakeFiles EXCLUDE PATTERN testing EXCLUDE
      PATTERN example EXCLUDE PATTERN flags EXCLUDE PATTERN metrics EXCLUDE
      REGEX "trainer/comm/(connect_devices|cuda_|device_|nccl_|staged_)" EXCLUDE)
  endforeach()
endforeach()

write_basic_package_version_file(${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/PenstockConfig.cmake
  ${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)
