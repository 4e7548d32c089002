// Asks the network from where this process runs, such as inside a namespace: a JSON request a line on stdin.
import { createInterface } from 'node:readline';
import { createNetwork } from '../../../daemon/doctor/world/network.ts';

const network = createNetwork(process.env);
for await (const line of createInterface(process.stdin)) {
  const { id, method, to, payload, limitMs } = JSON.parse(line) as {
    id: number;
    method: 'datagram' | 'connection';
    to: { host: string; port: number };
    payload: string;
    limitMs: number;
  };
  const { signal } = new AbortController();
  const asked =
    method === 'datagram'
      ? network.datagram(to, Buffer.from(payload, 'base64'), limitMs, signal)
      : network.connection(to, limitMs, signal);
  void asked.then(reached => process.stdout.write(`${JSON.stringify({ id, reached })}\n`));
}
