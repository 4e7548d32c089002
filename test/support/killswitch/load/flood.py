"""Sends D-Bus messages as fast as the bus takes them, from many connections and without a library that would refuse to.

python3 flood.py SOCKET UID CONNECTIONS SECONDS KIND BYTES: prints "ready", sends for so long as user UID, then prints how
many messages it sent. KIND is `signal`, or a method with its arguments: `Enable` takes BYTES of empty endpoints (24 bytes
each), every other one a text of BYTES that it does not have. A second figure counts the answers that name a limit.
"""
import os, select, socket, struct, sys, threading, time

ADDRESS, KIND = sys.argv[1], sys.argv[5]
UID, CONNECTIONS, BYTES = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[6])
SECONDS = float(sys.argv[4])
NAME, PATH = "org.culvert.KillSwitch1", "/org/culvert/KillSwitch1"
DRIVER = "org.freedesktop.DBus"
if UID:
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)


def field(code, kind, value):
    size = bytes([len(value)]) if kind == "g" else struct.pack("<I", len(value))
    return bytes([code, 1]) + kind.encode() + b"\0" + size + value.encode() + b"\0"


def message(kind, serial, destination, path, interface, member, signature="", body=b""):
    fields = [field(1, "o", path), field(2, "s", interface), field(3, "s", member), field(6, "s", destination)]
    if signature:
        fields.append(field(8, "g", signature))
    array = b""
    for each in fields:
        array += b"\0" * (-len(array) % 8) + each
    head = struct.pack("<BBBBIII", ord("l"), kind, 0, 1, len(body), serial, len(array)) + array
    return head + b"\0" * (-len(head) % 8) + body


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(ADDRESS)
    s.sendall(b"\0AUTH EXTERNAL " + str(UID).encode().hex().encode() + b"\r\n")
    s.recv(1024)
    s.sendall(b"BEGIN\r\n" + message(1, 1, DRIVER, "/org/freedesktop/DBus", DRIVER, "Hello"))
    s.recv(4096)
    return s


if KIND == "Enable":
    length = max(0, BYTES // 24 * 24 - 4)
    SIGNATURE, BODY = "ba(ssaq)", struct.pack("<II", 1, length) + b"\0" * length
else:
    SIGNATURE, BODY = "s", struct.pack("<I", BYTES) + b"x" * BYTES + b"\0"
sent = [0] * CONNECTIONS
limited = [0] * CONNECTIONS
end = time.monotonic() + SECONDS


def work(i, s):
    serial = 2
    try:
        while time.monotonic() < end:
            s.sendall(message(4 if KIND == "signal" else 1, serial, NAME, PATH, NAME, KIND, SIGNATURE, BODY))
            serial += 1
            sent[i] += 1
            while select.select([s], [], [], 0)[0]:
                answers = s.recv(65536)
                limited[i] += answers.count(b"LimitsExceeded: ")
                if not answers:
                    return
    except OSError:
        pass  # the bus ended the connection


sockets = [connect() for _ in range(CONNECTIONS)]
print("ready", flush=True)
threads = [threading.Thread(target=work, args=each, daemon=True) for each in enumerate(sockets)]
for each in threads:
    each.start()
for each in threads:
    each.join(max(0.1, end + 1 - time.monotonic()))
print(sum(sent), sum(limited), flush=True)
os._exit(0)
