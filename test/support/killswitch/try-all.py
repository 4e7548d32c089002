"""Tries every way out that a program has: python3 try-all.py ADDRESS NAMESERVER [--no-tcp]. Errors are as good as silence."""

import socket
import sys

address, name_server = sys.argv[1:3]
QUESTION = b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04leak\x07example\x00\x00\x01\x00\x01"


def attempt(act):
    try:
        act()
    except OSError:
        pass


def connect(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.settimeout(0.3)
        one.connect((address, port))


def send(to, port, data=b"x"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(data, (to, port))


def ping():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as one:
        one.sendto(b"\x08\x00\xf7\xff\x00\x00\x00\x00", (address, 0))


def send_raw():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, 132) as one:
        one.sendto(b"x" * 32, (address, 0))


if "--no-tcp" not in sys.argv:
    for each in (80, 443, 8080):
        attempt(lambda: connect(each))
for each in (443, 8080, 853):
    attempt(lambda: send(address, each))
attempt(lambda: send(address, 53, QUESTION))
attempt(lambda: send(name_server, 53, QUESTION))
attempt(ping)
attempt(send_raw)
