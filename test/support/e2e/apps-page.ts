// Runs inside the namespace of apps.test.ts: pages, a name server and UDP ports that print each arrival as a line of JSON.
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';

const [address = '', nameServer = '', proxySide = ''] = process.argv.slice(2);
const tell = (arrival: object) => process.stdout.write(`${JSON.stringify(arrival)}\n`);

/** Asks on and on, for a name that must not be resolved here, and by UDP for its own address. */
const page = (path: string) => `<!doctype html><title>${path}</title>
<img src="http://name${path.replaceAll('/', '-')}.invalid/x.png">
<link rel="dns-prefetch" href="http://prefetched${path.replaceAll('/', '-')}.invalid/">
<script>
  let n = 0;
  setInterval(() => fetch('${path}/tick?' + n++).catch(() => {}), 100);
  setInterval(() => {
    const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:${address}:3478' }] });
    peer.createDataChannel('x');
    peer.createOffer().then(offer => peer.setLocalDescription(offer));
    setTimeout(() => peer.close(), 900);
    new Image().src = 'http://name' + n + '${path.replaceAll('/', '-')}.invalid/x.png';
  }, 500);
</script>`;

const pages = createServer((request, response) => {
  const from = request.socket.remoteAddress;
  const path = request.url ?? '/';
  tell({ kind: 'http', from, path });
  response.setHeader('connection', 'close');
  if (path === '/cdn-cgi/trace') {
    response.end(`fl=1\nip=${from}\nwarp=${from === proxySide ? 'on' : 'off'}\n`);
    return;
  }
  response.setHeader('content-type', 'text/html');
  response.end(path.includes('tick') ? 'ok' : page(path));
});

for (const [port, host] of [
  [80, address],
  [80, '127.0.0.1'],
] as const)
  await new Promise<void>(ready => {
    if (host === address) pages.listen(port, host, ready);
    else createTcpServer(socket => pages.emit('connection', socket)).listen(port, host, ready);
  });
const secure = createTcpServer(socket => {
  tell({ kind: 'tls', from: socket.remoteAddress });
  socket.destroy();
});
await new Promise<void>(ready => secure.listen(443, address, ready));
for (const [port, host] of [
  [53, nameServer],
  [443, address],
  [3478, address],
] as const) {
  const socket = createSocket('udp4').on('message', (message, { address: from }) => {
    // a question's name follows the header of twelve bytes (RFC 1035)
    const text = message
      .subarray(12)
      .toString('latin1')
      .replace(/[^ -~]/g, '.');
    tell({ kind: port === 53 ? 'dns' : 'udp', from, port, text: text.slice(0, 80) });
  });
  await new Promise<void>(ready => socket.bind(port, host, ready));
}
tell({ kind: 'ready' });
