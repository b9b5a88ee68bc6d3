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
    """A CA whose files lie in `folder`."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.pem, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        _key(self.key)
        _openssl("req", "-x509", "-new", "-key", self.key, "-subj", f"/CN={name}", "-days", 30,
                 "-out", self.pem)

    def issue(self, name, hosts="IP:127.0.0.1", days=30, rsa_bits=None):
        """Writes name.pem and name.key, over older ones; days may be negative: expired. OpenSSL
        lets TLS use no RSA key of less than 2048 bits."""
        pem, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, names = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        _key(key, rsa_bits)
        names.write_text(f"subjectAltName={hosts}\n")
        _openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.pem, "-CAkey", self.key,
                 "-CAcreateserial", "-days", days, "-extfile", names, "-out", pem)
        return pem, key
