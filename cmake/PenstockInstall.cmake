# cmake --install puts the programs into bin/, their man pages and completion into share/, and the
# files that find_package(Penstock) and pkg-config need beside them: penstock::loader and
# penstock::trainer_ranks, the libraries that these link, and the public headers. The programs link all of these libraries, so you
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

# The headers that programs may include (docs/reference/cpp_api.md), and those that these include.
set(PENSTOCK_PUBLIC_HEADERS
  base/dtype.h base/duration_histogram.h base/io/byte_source.h base/mutex.h base/process/environment.h base/span_sink.h
  client/fetch/on_error.h client/loader/decode_spec.h client/loader/loader.h
  client/loader/packed_bit.h client/loader/packed_bits.h client/loader/ragged_tensor.h client/loader/slot_allocator.h
  client/loader/tensor_view.h client/penstock.h client/plan/cursor.h client/plan/plan_options.h
  client/transport/network_options.h records/container/container.h records/dataset/feature_info.h
  records/dataset/manifest.h records/dataset/split.h records/format/compression.h
  records/format/example.h records/format/feature_use.h records/format/variable_entry.h
  records/image/image_note.h records/image/pixel_sums.h records/image/pixels.h
  trainer/comm/communicator.h trainer/comm/late_watch.h trainer/comm/rank_group.h
  trainer/comm/rank_info.h trainer/comm/store_client.h trainer/comm/store_server.h
  trainer/comm/tcp_way.h trainer/comm/verbs.h trainer/comm/wait_options.h)

# In the build tree, penstock::headers gives them the names that they have once installed.
set(include ${PROJECT_BINARY_DIR}/include)
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in ${include}/penstock/version.h @ONLY)
foreach(header IN LISTS PENSTOCK_PUBLIC_HEADERS)
  set(link ${include}/penstock/${header})
  if(header STREQUAL "client/penstock.h")
    set(link ${include}/penstock/penstock.h)
  endif()
  cmake_path(GET link PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${header} ${link} SYMBOLIC)
endforeach()
add_library(penstock_headers INTERFACE)
add_library(penstock::headers ALIAS penstock_headers)
target_include_directories(penstock_headers INTERFACE ${include})

# Writes penstock.pc for the static libraries `exported`.
function(penstock_install_pkg_config)
  set(requires grpc++ protobuf openssl zlib libpng libjpeg libisal libzstd)
  foreach(library IN LISTS exported)
    get_target_property(links ${library} LINK_LIBRARIES)
    list(FILTER links INCLUDE REGEX "^absl::")
    list(TRANSFORM links REPLACE "^absl::" "absl_")
    list(APPEND requires ${links})
    list(APPEND libraries -l${library})
  endforeach()
  list(REMOVE_DUPLICATES requires)
  list(JOIN requires " " pc_requires)
  list(JOIN libraries " " pc_libraries)
  # At install time, because `cmake --install --prefix` decides the prefix.
  install(CODE "
    set(CMAKE_INSTALL_LIBDIR ${CMAKE_INSTALL_LIBDIR})
    set(CMAKE_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
    set(PROJECT_VERSION ${PROJECT_VERSION})
    set(pc_requires \"${pc_requires}\")
    set(pc_libraries \"${pc_libraries}\")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/penstock.pc.in
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/penstock.pc\" @ONLY)")
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
install(CODE "
  set(SOURCE ${PROJECT_SOURCE_DIR})
  set(HEADERS \"${PENSTOCK_PUBLIC_HEADERS}\")
  set(TO \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/penstock\")
  include(${PROJECT_SOURCE_DIR}/cmake/install_header.cmake)")
install(FILES ${include}/penstock/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock)
penstock_install_pkg_config()
install(TARGETS ${exported} EXPORT PenstockTargets ARCHIVE)
install(EXPORT PenstockTargets NAMESPACE penstock::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)

write_basic_package_version_file(${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/PenstockConfig.cmake
  ${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)
