// Programs that glibc is linked into use this, so that they load no modules. A module, such as
// libnss_resolve.so or a provider of OpenSSL, needs the machine's glibc, and two glibcs in one
// process crash it.
#include <dlfcn.h>
#include <nss.h>
#include <stddef.h>

// /etc/nsswitch.conf may name any module. These two are inside the program.
__attribute__((constructor)) static void LookUpWithoutModules(void) {
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("group", "files");
  __nss_configure_lookup("networks", "files");
  __nss_configure_lookup("passwd", "files");
  __nss_configure_lookup("protocols", "files");
  __nss_configure_lookup("services", "files");
}

// Replaces glibc's function: openssl.cnf may name modules too, and OpenSSL goes on without them.
void* dlopen(const char* path, int flags) {
  (void)path;
  (void)flags;
  return NULL;
}

char* dlerror(void) { return (char*)"this program loads no modules"; }
