# cmake --install puts the programs into bin/, their man pages and completion into share/, and the
# files that find_package(Penstock) needs beside them: penstock::loader and penstock::trainer_ranks,
# the libraries that these link, and their headers. The programs link all of these libraries, so you
# can install once the programs are built.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Appends `library`, which is penstock::NAME, and all of our libraries that it links to the list
# `exported`.
function(penstock_export library)
  get_target_property(target ${library} ALIASED_TARGET)
  if(target IN_LIST exported)
    return()
  endif()
  list(APPEND exported ${target})
  get_target_property(below ${target} LINK_LIBRARIES)
  list(FILTER below INCLUDE REGEX "^penstock::")
  foreach(next IN LISTS below)
    penstock_export(${next})
  endforeach()
  set(exported ${exported} PARENT_SCOPE)
endfunction()

# Installs headers below include/penstock, in the folders that #include lines name.
function(penstock_install_headers target)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.h$")
  foreach(header IN LISTS sources)
    cmake_path(ABSOLUTE_PATH header BASE_DIRECTORY ${folder} NORMALIZE)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${header} generated)
    set(root ${PROJECT_SOURCE_DIR})
    if(generated)
      set(root ${PROJECT_BINARY_DIR})
    endif()
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${root} OUTPUT_VARIABLE name)
    cmake_path(GET name PARENT_PATH place)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/${place})
  endforeach()
endfunction()

foreach(folder man bash-completion zsh)  # penstock_binary() lets the programs write these.
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}
    COMPONENT programs)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/penstock COMPONENT programs)
if(PENSTOCK_PORTABLE)  # Installs the licences of the libraries that are linked into the programs.
  install(CODE "
    execute_process(COMMAND python3 ${PROJECT_SOURCE_DIR}/cmake/portable/licenses.py
      ${PROJECT_BINARY_DIR} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/penstock/licenses\"
      penstock penstock-server penstock-train COMMAND_ERROR_IS_FATAL ANY)" COMPONENT programs)
endif()

set(exported)
penstock_export(penstock::loader)
penstock_export(penstock::trainer_ranks)
foreach(target IN LISTS exported)
  penstock_install_headers(${target})
endforeach()
install(TARGETS ${exported} EXPORT PenstockTargets ARCHIVE)
install(EXPORT PenstockTargets NAMESPACE penstock::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)

write_basic_package_version_file(${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/PenstockConfig.cmake
  ${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)
