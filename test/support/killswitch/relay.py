"""Plays the tunnel: makes two tun devices, prints "ready", and carries packets between them: python3 relay.py NAME OTHER."""

import fcntl
import os
import select
import struct
import sys

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 1, 0x1000


def tun(name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


one, other = (tun(name) for name in sys.argv[1:3])
print("ready", flush=True)
while True:
    for fd in select.select([one, other], [], [])[0]:
        try:
            os.write(other if fd == one else one, os.read(fd, 65536))
        except OSError:
            pass  # the other device is down: the packet is lost
