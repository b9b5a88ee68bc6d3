# Installs the headers HEADERS of SOURCE into TO, where programs include them as
# "penstock/FOLDER/NAME.h": their own #include lines get that spelling too. So the folders of a
# program, such as base/, cannot be taken for Penstock's.
foreach(header IN LISTS HEADERS)
  file(READ ${SOURCE}/${header} text)
  string(REGEX REPLACE "(#include \")((base|client|records|trainer)/)" "\\1penstock/\\2" text "${text}")
  set(place ${TO}/${header})
  if(header STREQUAL "client/penstock.h")
    set(place ${TO}/penstock.h)
  endif()
  file(CONFIGURE OUTPUT ${place} CONTENT "${text}" @ONLY)
  message(STATUS "Installing: ${place}")
endforeach()
