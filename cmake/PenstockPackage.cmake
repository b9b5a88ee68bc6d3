# Makes a Debian package of the programs, their manual and the systemd unit: run `cpack` in the
# build folder. The package installs the unit but neither enables nor starts it. lintian accepts the
# package (tests/deploy/debian_package_test.py).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME penstock)
set(CPACK_PACKAGE_VENDOR "Penstock")
# Debian wants an address. The project has none, and .invalid says so. Whoever publishes the package
# gives their own: cmake -DPENSTOCK_PACKAGE_CONTACT='NAME <ADDRESS>'.
set(PENSTOCK_PACKAGE_CONTACT "Penstock unpublished build <no-address@penstock.invalid>" CACHE STRING
  "Who maintains the Debian package: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT ${PENSTOCK_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "data-loading service for training")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Servers read record files and images on CPU machines, decode them, and send
ready batches to the ranks of a training. Every record comes exactly once an
epoch, in an order that does not depend on servers, ranks or failures.
.
This package has the server, its systemd unit, the tools and the trainer.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL programs debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(debian ${PROJECT_SOURCE_DIR}/deploy/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(systemd ${PROJECT_SOURCE_DIR}/deploy/systemd)
install(FILES ${systemd}/penstock-server.service DESTINATION lib/systemd/system
  COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${systemd}/server.conf DESTINATION /etc/penstock COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${debian}/copyright DESTINATION share/doc/penstock COMPONENT debian EXCLUDE_FROM_ALL)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/compress_for_debian.cmake)
include(CPack)
