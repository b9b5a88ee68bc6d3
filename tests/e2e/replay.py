"""What a client of the service says on its connection, recorded once and said again by many.

A thousand clients that are sockets of one process cost next to nothing, and can die in ways that a
client of ours never would.
"""

import socket
import struct
import threading


def split(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


class Recorder:
    """A way to a server that keeps what the first client sends. `address` is to be connected to."""

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
        """Ends both sides, also one that waits."""
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
    """A connection on which the recorded words are said."""

    def __init__(self, server, words):
        self.connection = socket.create_connection(split(server), timeout=60)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.connection.sendall(words)

    def read(self, size):
        """Reads so many bytes of the answer; False if the server ended the connection before."""
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
        """Dies: what is unread is lost, and the server gets an RST."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
