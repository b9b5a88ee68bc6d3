# -DPENSTOCK_PORTABLE=ON: programs that need nothing of the machine they run on but glibc. Turns every
# imported shared library into its static one, beside it or in PENSTOCK_ARCHIVES, where
# cmake/portable/archives.sh puts those that Debian does not package. mold reads archives in any order.
#
# -DPENSTOCK_STATIC=ON links glibc too: programs that need nothing but the kernel, for the Python wheel.
if(PENSTOCK_TESTS OR PENSTOCK_BENCHMARKS)
  message(FATAL_ERROR "PENSTOCK_PORTABLE builds programs alone: -DPENSTOCK_TESTS=OFF -DPENSTOCK_BENCHMARKS=OFF")
endif()
set(PENSTOCK_ARCHIVES ${PROJECT_SOURCE_DIR}/build/archives CACHE PATH
  "Where cmake/portable/archives.sh put static libraries")

# `out` is the static library that stands for `shared`.
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

# Replaces each shared library of a list by its archive; other items stay. The name of the one that
# has none stays too, and the linker's words would be many: so it is an error here.
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

# For imported targets that programs link: those of no use to them may have no archive.
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
# What the shared one brings along by itself.
set_property(TARGET protobuf::libprotobuf APPEND PROPERTY INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)
find_library(PENSTOCK_RE2 re2 REQUIRED)  # Known by its name alone.
penstock_archive_of(${PENSTOCK_RE2} re2)
set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES ${re2})

# OpenBLAS's archive has kernels for 20 kinds of processors, 25 MB of them. Those of most kinds of
# before 2011, and of AMD's before Zen, are served by another kind's that they can run.
set(PENSTOCK_OPENBLAS_OPTIONS "")
foreach(kind ATHLON ATOM BARCELONA BOBCAT CORE2 DUNNINGTON NANO OPTERON OPTERON_SSE3 PENRYN)
  list(APPEND PENSTOCK_OPENBLAS_OPTIONS -Wl,--defsym=gotoblas_${kind}=gotoblas_PRESCOTT)
endforeach()
foreach(kind BULLDOZER EXCAVATOR PILEDRIVER STEAMROLLER)
  list(APPEND PENSTOCK_OPENBLAS_OPTIONS -Wl,--defsym=gotoblas_${kind}=gotoblas_SANDYBRIDGE)
endforeach()

if(PENSTOCK_STATIC)
  # Modules would bring the glibc of the machine along.
  add_library(penstock_no_modules OBJECT ${PROJECT_SOURCE_DIR}/cmake/portable/no_modules.c)
else()
  # What glibc has since 2.36 alone; the rest asks for 2.35 (docs/guides/portable.md).
  add_library(penstock_older_glibc OBJECT ${PROJECT_SOURCE_DIR}/cmake/portable/arc4random.c)
endif()
