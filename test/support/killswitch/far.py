"""Plays the internet: answers TCP and UDP on port 8080 of 203.0.113.5 with the address that asked. Prints "ready"."""

import socket
import threading


def serve_udp():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("203.0.113.5", 8080))
    while True:
        _, peer = server.recvfrom(2048)
        server.sendto(peer[0].encode(), peer)


def serve(connection, peer):
    connection.sendall(peer[0].encode() + b"\n")
    while data := connection.recv(65536):  # until the other side ends
        connection.sendall(data)
    connection.close()


threading.Thread(target=serve_udp, daemon=True).start()
server = socket.create_server(("203.0.113.5", 8080), backlog=128)
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=server.accept(), daemon=True).start()
