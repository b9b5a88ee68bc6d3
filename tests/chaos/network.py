"""Networks of namespaces whose packets pass through this process, which delays or drops them.

Nothing of a network outlives the process, and no packet leaves it: a namespace has one interface, a
tun device (tun(4)) whose other end is read here. This needs root, but not `tc qdisc netem`, which
many small kernels lack.
"""

import collections
import ctypes
import fcntl
import heapq
import ipaddress
import os
import random
import select
import struct
import subprocess
import threading
import time

from servers import die_with_parent

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001


class Node:
    """A namespace. The attributes of its link may be changed at any time."""

    def __init__(self, number):
        self.address = f"10.77.0.{number}"
        self.delay_s = 0.0    # Delay of packets in each direction.
        self.loss = 0.0       # Share of packets that are lost in each direction.
        self.hears = True     # Whether packets reach it.
        self.is_heard = True  # Whether its packets reach others.
        self.counts = collections.Counter()
        self._holder = subprocess.Popen(["sleep", "infinity"], preexec_fn=self._enter_new)
        self.namespace = f"/proc/{self._holder.pid}/ns/net"  # File for setns(2).
        self.prefix = ("nsenter", f"--net={self.namespace}", "--")
        interface = f"ps{os.getpid()}n{number}"
        self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH22x", interface.encode(), IFF_TUN_NO_PI))
        self._ip("link", "set", interface, "netns", str(self._holder.pid))
        self._ip("link", "set", "lo", "up", inside=True)
        self._ip("addr", "add", f"{self.address}/24", "dev", interface, inside=True)
        self._ip("link", "set", interface, "up", inside=True)

    @staticmethod
    def _enter_new():
        die_with_parent()
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")

    def _ip(self, *args, inside=False):
        subprocess.run([*(self.prefix if inside else ()), "ip", *args], check=True,
                       preexec_fn=die_with_parent)

    def partition(self):
        self.hears = self.is_heard = False

    def heal(self):
        self.hears = self.is_heard = True

    def close(self):
        os.close(self.tun)
        self._holder.kill()
        self._holder.wait()


class Network:
    """Routes packets between its nodes until `close()`."""

    @staticmethod
    def missing():
        """Returns why no network can be made here; empty if one can."""
        try:
            Node(254).close()
        except (OSError, subprocess.SubprocessError) as error:
            return f"no namespaces with tun devices ({error}); run as root with iproute2 installed"
        return ""

    def __init__(self, num_nodes, seed):
        self.nodes = [Node(number + 1) for number in range(num_nodes)]
        self._of_address = {ipaddress.ip_address(node.address).packed: node for node in self.nodes}
        self._random = random.Random(seed)
        self._late = []  # Heap of (when, number, sender, receiver, packet).
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self):
        self._ends.set()
        self._thread.join()
        for node in self.nodes:
            node.close()

    def _run(self):
        poll = select.poll()
        of_tun = {node.tun: node for node in self.nodes}
        for tun in of_tun:
            poll.register(tun, select.POLLIN)
        while not self._ends.is_set():
            wait_s = max(0.0, self._late[0][0] - time.monotonic()) if self._late else 0.05
            for tun, _ in poll.poll(1000 * min(wait_s, 0.05)):
                self._receive(of_tun[tun])
            self._send()

    def _receive(self, sender):
        for _ in range(64):  # After this many packets, the other nodes get their turn.
            try:
                packet = os.read(sender.tun, 1 << 16)
            except BlockingIOError:
                return
            receiver = self._of_address.get(packet[16:20]) if packet[0] >> 4 == 4 else None
            if receiver is None:
                continue  # Drop multicast packets, such as IPv6 router solicitations.
            if not sender.is_heard or not receiver.hears:
                sender.counts["cut"] += 1
            elif self._random.random() < sender.loss + receiver.loss:
                sender.counts["lost"] += 1
            else:
                sender.counts["passed"] += 1
                due = time.monotonic() + sender.delay_s + receiver.delay_s
                heapq.heappush(self._late, (due, sender.counts["passed"], id(sender), receiver,
                                            packet))

    def _send(self):
        now = time.monotonic()
        while self._late and self._late[0][0] <= now:
            *_, receiver, packet = heapq.heappop(self._late)
            try:
                os.write(receiver.tun, packet)
            except BlockingIOError:
                receiver.counts["lost"] += 1  # The receiver's queue is full.
