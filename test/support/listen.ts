// A server on a free port of this machine, for as long as its test runs.
import { once } from 'node:events';
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

type Ends = { after(end: () => void): void };

/** @returns its port on 127.0.0.1 */
export async function listen(t: Ends, server: Server | HttpServer): Promise<number> {
  server.listen(0, '127.0.0.1');
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
