# -DPENSTOCK_PORTABLE=ON builds programs that need only glibc from the machine they run on. Replaces
# every imported shared library by its static library, which is beside it or in PENSTOCK_ARCHIVES,
# where cmake/portable/archives.sh puts those that Debian does not package. mold reads archives in
# any order.
#
# -DPENSTOCK_STATIC=ON links glibc too: these programs, for the Python wheel, need only the kernel.
if(PENSTOCK_TESTS OR PENSTOCK_BENCHMARKS)
  message(FATAL_ERROR "PENSTOCK_PORTABLE builds only programs: add -DPENSTOCK_TESTS=OFF -DPENSTOCK_BENCHMARKS=OFF")
endif()
set(PENSTOCK_ARCHIVES ${PROJECT_SOURCE_DIR}/build/archives CACHE PATH
  "Where cmake/portable/archives.sh put static libraries")

# Sets `out` to the static library that replaces `shared`.
function(penstock_archive_of shared out)
  get_filename_component(folder ${shared} DIRECTORY)
  get_filename_component(name ${shared} NAME)
  string(REGEX REPLACE "\\.so(\\.[0-9.]+)?$" ".a" name ${name})
  foreach(candidate ${PENSTOCK_ARCHIVES}/${name} ${folder}/${name})
    if(EXISTS ${candidate})
      set(${out} ${candidate} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} ${name}-NOTFOUND PARENT_SCOPE)
endfunction()

# Replaces each shared library of a list by its static library; other items stay. A shared library
# without a static one is an error here, because the linker's messages about it would be long.
function(penstock_archives_of list out)
  set(found "")
  foreach(item IN LISTS ${list})
    if(item MATCHES "^/.*\\.so(\\.[0-9.]+)?$"
        AND (PENSTOCK_STATIC OR NOT item MATCHES "/lib(m|dl|pthread|rt)\\.so"))
      penstock_archive_of(${item} archive)
      if(NOT archive)
        message(FATAL_ERROR "PENSTOCK_PORTABLE: no static library for ${item}, neither beside it nor "
          "in ${PENSTOCK_ARCHIVES}: run cmake/portable/archives.sh")
      endif()
      list(APPEND found ${archive})
    else()
      list(APPEND found ${item})
    endif()
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Replaces the libraries of the imported targets that programs link. Other targets may have no
# static library.
function(penstock_link_archives)
  foreach(target IN LISTS ARGN)
    foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_NONE IMPORTED_LOCATION_RELEASE
        INTERFACE_LINK_LIBRARIES)
      get_target_property(value ${target} ${property})
      if(value)
        penstock_archives_of(value archives)
        set_target_properties(${target} PROPERTIES ${property} "${archives}")
      endif()
    endforeach()
  endforeach()
endfunction()

get_directory_property(imported IMPORTED_TARGETS)
list(FILTER imported INCLUDE REGEX
  "^(absl::|c-ares::|fmt::fmt$|gRPC::(address_sorting|gpr|grpc|grpc\\+\\+|upb)$|OpenSSL::|PkgConfig::|prometheus-cpp::core$|protobuf::libprotobuf$|re2::|spdlog::spdlog$|JPEG::JPEG$|PNG::PNG$|ZLIB::)")
penstock_link_archives(${imported})
# The shared library links this one by itself; the static one does not.
set_property(TARGET protobuf::libprotobuf APPEND PROPERTY INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)
find_library(PENSTOCK_RE2 re2 REQUIRED)  # The target re2::re2 names its library without a path.
penstock_archive_of(${PENSTOCK_RE2} re2)
set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES ${re2})

# OpenBLAS's static library has kernels for 20 kinds of processors, 25 MB in all. To save space,
# most kinds from before 2011, and AMD's from before Zen, use the kernels of another kind that they
# can run.
set(PENSTOCK_OPENBLAS_OPTIONS "")
foreach(kind ATHLON ATOM BARCELONA BOBCAT CORE2 DUNNINGTON NANO OPTERON OPTERON_SSE3 PENRYN)
  list(APPEND PENSTOCK_OPENBLAS_OPTIONS -Wl,--defsym=gotoblas_${kind}=gotoblas_PRESCOTT)
endforeach()
foreach(kind BULLDOZER EXCAVATOR PILEDRIVER STEAMROLLER)
  list(APPEND PENSTOCK_OPENBLAS_OPTIONS -Wl,--defsym=gotoblas_${kind}=gotoblas_SANDYBRIDGE)
endforeach()

if(PENSTOCK_STATIC)
  # Modules would load the machine's glibc.
  add_library(penstock_no_modules OBJECT ${PROJECT_SOURCE_DIR}/cmake/portable/no_modules.c)
else()
  # Replaces the only function here that needs glibc 2.36. Everything else needs 2.35
  # (docs/guides/portable.md).
  add_library(penstock_older_glibc OBJECT ${PROJECT_SOURCE_DIR}/cmake/portable/arc4random.c)
endif()
