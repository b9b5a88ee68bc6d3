"""Makes certificate authorities and certificates with the openssl program."""

import subprocess


def _openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, timeout=60)


def _key(path, rsa_bits=None):
    if rsa_bits is None:
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)
    else:
        _openssl("genrsa", "-out", path, rsa_bits)
    path.chmod(0o600)


class Authority:
    """A CA whose files are in `folder`. A negative number of days makes its certificate expired.
    With `signed_by`, another Authority, this one is an intermediate CA."""

    def __init__(self, folder, name, days=30, signed_by=None):
        self.folder, self.name = folder, name
        self.pem, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        _key(self.key)
        signed = ["-signkey", self.key] if signed_by is None else signed_by.signs()
        self._certify(name, self.key, ["basicConstraints=critical,CA:TRUE"], days, signed)

    def signs(self):
        """Returns the arguments of `openssl x509` that sign with this CA."""
        return ["-CA", self.pem, "-CAkey", self.key, "-CAcreateserial"]

    def issue(self, name, hosts="IP:127.0.0.1", days=30, rsa_bits=None, usage=None):
        """Writes name.pem and name.key, and replaces older ones. OpenSSL does not use RSA keys of
        less than 2048 bits for TLS. `usage` restricts the certificate to serverAuth or
        clientAuth."""
        key = self.folder / f"{name}.key"
        _key(key, rsa_bits)
        extensions = [f"subjectAltName={hosts}"]
        if usage is not None:
            extensions.append(f"extendedKeyUsage={usage}")
        return self._certify(name, key, extensions, days, self.signs()), key

    def _certify(self, name, key, extensions, days, signed):
        pem = self.folder / f"{name}.pem"
        request, extended = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extended.write_text("\n".join(extensions) + "\n")
        _openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        _openssl("x509", "-req", "-in", request, *signed, "-days", days, "-extfile", extended,
                 "-out", pem)
        return pem
