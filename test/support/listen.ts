// A server on a free port of this machine, for as long as its test runs.
import { once } from 'node:events';
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Server } from 'node:net';

type Ends = { after(end: () => void): void };

/** @returns its port */
export async function listen(t: Ends, server: Server | HttpServer, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** @returns the address of a server that answers so */
export async function serve(t: Ends, answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(t, createServer(answer))}`;
}

/** A proxy that leads every connection to one server. @returns its address, and the hosts that it was asked for */
export async function proxyTo(t: Ends, port: number): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const proxy = createServer((_request, response) => void response.writeHead(500).end());
  proxy.on('connect', (request, socket) => {
    asked.push(request.url!);
    const target = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    target.on('error', () => socket.destroy());
    socket.on('error', () => target.destroy());
    t.after(() => target.destroy());
  });
  return { url: `http://127.0.0.1:${await listen(t, proxy)}`, asked };
}
