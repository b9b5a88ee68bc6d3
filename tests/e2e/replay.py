"""Records what a client of the service sends on its connection, and replays it on many connections.

A thousand clients that are sockets of one process cost next to nothing, and can die in ways in
which a client of ours never would.
"""

import mmap
import os
import socket
import struct
import threading


def split(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


class Recorder:
    """Forwards connections to a server and records what the first client sends. Connect to
    `address`."""

    def __init__(self, server):
        self.sent = bytearray()
        self.received = 0
        self._server = socket.create_connection(split(server))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._run)]
        self._threads[0].start()

    def _run(self):
        self._client, _ = self._listener.accept()
        back = threading.Thread(target=self._pass_back)
        back.start()
        while data := self._read(self._client):
            self.sent += data
            self._server.sendall(data)
        self.close()
        back.join()

    def _pass_back(self):
        while data := self._read(self._server):
            self.received += len(data)
            try:
                self._client.sendall(data)
            except OSError:
                return

    @staticmethod
    def _read(connection):
        try:
            return connection.recv(1 << 16)
        except OSError:
            return b""

    def close(self):
        """Ends both sides, even while one waits."""
        for end in (self._server, self._listener):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def join(self):
        self._threads[0].join()
        for end in (self._server, self._listener, self._client):
            end.close()


class ReplayedClient:
    """A connection on which the recorded bytes are sent."""

    def __init__(self, server, words):
        self.connection = socket.create_connection(split(server), timeout=60)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.connection.sendall(words)

    def read(self, size):
        """Reads `size` bytes of the answer. Returns False if the server ended the connection
        before."""
        while size > 0:
            try:
                data = self.connection.recv(min(size, 1 << 16))
            except ConnectionResetError:
                return False
            if not data:
                return False
            size -= len(data)
        return True

    def reset(self):
        """Dies: unread bytes are lost, and the server gets an RST."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def split_after_hello(words):
    """Splits the recorded bytes after the first frame of data (RFC 9113), which is Hello."""
    at = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    while True:
        size, kind = int.from_bytes(words[at:at + 3], "big"), words[at + 3]
        at += 9 + size
        if kind == 0:
            return words[:at], words[at:]


class SharedClient(ReplayedClient):
    """A client that fetches its shared memory before it requests rows, and gets rows there."""

    MAPPED = bytes([0, 0, 0, 0, 2, 0x3a, 0])  # A message of gRPC: SharedMemoryMapped.

    def __init__(self, server, words, path):
        hello, rest = split_after_hello(words)
        super().__init__(server, hello)
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.door.settimeout(60)
        self.door.connect(path)
        self.door.sendall(self._ticket(path.encode()))
        answer, descriptors, *_ = socket.recv_fds(self.door, 1024, 1)
        if answer != b"ok":
            raise AssertionError(f"no pool: {answer}")
        self.pool = mmap.mmap(descriptors[0], 0, prot=mmap.PROT_READ)
        os.close(descriptors[0])
        frame = len(self.MAPPED).to_bytes(3, "big") + bytes([0, 0, 0, 0, 0, 1]) + self.MAPPED
        self.connection.sendall(frame + rest)

    def _ticket(self, path):
        """Returns the ticket in ServerHello, which follows the socket's path."""
        heard = b""
        while len(after := heard.partition(path)[2]) < 34:
            data = self.connection.recv(1 << 14)
            if not data:
                raise AssertionError("the server ended the conversation")
            heard += data
        assert after[:2] == b"\x42\x20", after[:2]
        return after[2:34]

    def has_rows(self):
        return any(self.pool[:4096])

    def reset(self):
        super().reset()
        self.pool.close()
        self.door.close()
