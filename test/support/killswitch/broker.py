"""Starts dbus-broker without systemd: it wants a socket that listens, a journal, and its program in /usr/bin.

Arguments: path of the socket, file of the configuration, path of dbus-broker-launch. In a mount namespace of its own. Prints a
line once the bus is ready.
"""

import os
import socket
import subprocess
import sys

address, configuration, launcher = sys.argv[1:]
directory = os.path.dirname(launcher)
if directory != '/usr/bin':
    layers = f'lowerdir={directory}:/usr/bin'
    subprocess.run(['mount', '-t', 'overlay', 'overlay', '-o', layers, '/usr/bin'], check=True)
subprocess.run(['mount', '-t', 'tmpfs', 'tmpfs', '/run'], check=True)
os.makedirs('/run/systemd/journal')
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind('/run/systemd/journal/socket')
bus = socket.socket(socket.AF_UNIX)
bus.bind(address)
os.chmod(address, 0o666)
bus.listen(64)
if os.fork():
    bus.close()
    while True:
        entry = journal.recv(1 << 16)
        if b'MESSAGE=Ready\n' in entry:
            print('ready', flush=True)
        elif b'ERROR' in entry:
            sys.stderr.buffer.write(entry)
os.dup2(bus.fileno(), 3)
os.set_inheritable(3, True)
# its own bus is where it asks for services to be started
os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()), DBUS_SYSTEM_BUS_ADDRESS=f'unix:path={address}')
os.execv(launcher, [launcher, '--scope', 'system', '--config-file', configuration])
