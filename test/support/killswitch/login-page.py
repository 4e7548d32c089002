"""Plays a network with a login page and the internet behind it: python3 login-page.py DIRECTORY. Prints "ready".

DIRECTORY/mode says how it answers before the login: "redirect", "form", "511", "lies" (DNS leads every name to the network's own
server), "https" (nothing answers plain HTTP, and every TLS server shows the network's certificate), "allows-one" (one test page
passes), "silent", or "open". A request for http://login.example/accept signs in: the mode is "open" from then on; the form there sends
itself in a browser. DIRECTORY/names gets a line for each question of DNS, DIRECTORY/pages one for each request, with the browser's name. DIRECTORY/certificate.pem is the network's certificate and key.
"""

import os
import socket
import ssl
import sys
import threading

here = sys.argv[1]
OWN = "10.9.0.2"
ADDRESSES = {"connectivitycheck.gstatic.com": "203.0.113.11", "detectportal.firefox.com": "203.0.113.12",
             "nmcheck.gnome.org": "203.0.113.13", "login.example": OWN, "page.example": "203.0.113.20"}
PAGES = {"connectivitycheck.gstatic.com": ("204 No Content", ""), "detectportal.firefox.com": ("200 OK", "success\n"),
         "nmcheck.gnome.org": ("200 OK", "NetworkManager is online\n")}
FORM = "<!DOCTYPE html><form action='http://login.example/accept'></form><script>document.forms[0].submit()</script>" + "x" * 2000


def mode():
    with open(os.path.join(here, "mode")) as file:
        return file.read().strip()


def answer_names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((OWN, 53))
    while True:
        question, peer = server.recvfrom(4096)
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += question[at] + 1
        name = ".".join(labels)
        with open(os.path.join(here, "names"), "a") as file:
            file.write(name + "\n")
        if mode() == "silent":
            continue
        address = OWN if mode() == "lies" else ADDRESSES.get(name)
        record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04" + socket.inet_aton(address) if address else b""
        head = question[:2] + (b"\x81\x80" if address else b"\x81\x83") + b"\x00\x01" + (b"\x00\x01" if address else b"\x00\x00")
        server.sendto(head + b"\x00\x00\x00\x00" + question[12:at + 5] + record, peer)


def reply_to(host, path):
    if host == "login.example" and path == "/accept":
        with open(os.path.join(here, "mode"), "w") as file:
            file.write("open")
        return "200 OK", "", "welcome"
    now = mode()
    if host == "login.example":
        return "200 OK", "", FORM
    if now == "open" or (now == "allows-one" and host == "detectportal.firefox.com"):
        status, body = PAGES.get(host, ("200 OK", "a page"))
        return status, "", body
    if now == "511":
        return "511 Network Authentication Required", "", FORM
    if now == "form":
        return "200 OK", "", FORM
    return "302 Found", "Location: http://login.example/\r\n", ""


def serve(connection):
    try:
        request = b""
        while b"\r\n\r\n" not in request:
            part = connection.recv(4096)
            if not part:
                return
            request += part
        lines = request.decode().split("\r\n")
        host = next((line[6:] for line in lines if line.lower().startswith("host: ")), "").split(":")[0]
        agent = next((line[12:] for line in lines if line.lower().startswith("user-agent: ")), "")
        path = lines[0].split(" ")[1].split("?")[0]
        with open(os.path.join(here, "pages"), "a") as file:
            file.write(f"{host} {path} {agent}\n")
        status, fields, body = reply_to(host, path)
        connection.sendall(f"HTTP/1.1 {status}\r\n{fields}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    except OSError:
        pass
    finally:
        connection.close()


def serve_plain():
    server = socket.create_server(("0.0.0.0", 80), backlog=64)
    while True:
        connection, _ = server.accept()
        if mode() in ("https", "silent"):
            connection.close()
        else:
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


def serve_tls():
    certificate = os.path.join(here, "certificate.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = socket.create_server(("0.0.0.0", 443), backlog=64)
    while True:
        connection, _ = server.accept()
        try:
            connection.settimeout(5)
            serve(context.wrap_socket(connection, server_side=True))
        except OSError:
            connection.close()


def echo():
    server = socket.create_server(("0.0.0.0", 8080), backlog=64)
    while True:
        connection, _ = server.accept()
        connection.sendall(b"reached\n")
        connection.close()


threads = [answer_names, serve_plain, echo]
if os.path.exists(os.path.join(here, "certificate.pem")):
    threads.append(serve_tls)
for each in threads:
    threading.Thread(target=each, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
