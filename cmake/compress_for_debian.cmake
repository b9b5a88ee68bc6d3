# cpack runs this on the files of the package before it is made: Debian wants manual pages and the
# changelog compressed, with the same bytes at each build.
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man1/*.1)
file(GLOB docs ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/penstock)
file(REMOVE ${docs}/LICENSE)  # The file `copyright` names it.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${docs}/changelog.gz.text
"penstock (${CPACK_PACKAGE_VERSION}) stable; urgency=medium

  * See CHANGELOG.md in the sources.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
execute_process(COMMAND gzip -9 -n ${pages} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND gzip -9 -n -c ${docs}/changelog.gz.text OUTPUT_FILE ${docs}/changelog.gz
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${docs}/changelog.gz.text)
