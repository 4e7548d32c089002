"""Plays the internet: answers TCP and UDP on port 8080 of two addresses with the address that asked. Prints "ready"."""

import socket
import threading

ADDRESSES = {"203.0.113.5": socket.AF_INET, "2001:db8:5::5": socket.AF_INET6}


def serve_udp(server):
    while True:
        _, peer = server.recvfrom(2048)
        server.sendto(peer[0].encode(), peer)


def serve(connection, peer):
    connection.sendall(peer[0].encode() + b"\n")
    while data := connection.recv(65536):  # until the other side ends
        connection.sendall(data)
    connection.close()


def serve_tcp(server):
    while True:
        threading.Thread(target=serve, args=server.accept(), daemon=True).start()


for address, family in ADDRESSES.items():
    udp = socket.socket(family, socket.SOCK_DGRAM)
    udp.bind((address, 8080))
    threading.Thread(target=serve_udp, args=[udp], daemon=True).start()
    tcp = socket.create_server((address, 8080), family=family, backlog=128)
    threading.Thread(target=serve_tcp, args=[tcp], daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
