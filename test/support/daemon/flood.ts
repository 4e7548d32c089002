// Sends pipelined requests and reads no answers, until stdin ends. A separate program, so that it can run as another user.
// Arguments: target (a port, or the path of a socket), connections, shape.
import { connect, type Socket } from 'node:net';

/** Text that a connection sends; `HOST` stands for the listener's. */
const SHAPES: Record<string, string> = {
  openapi: 'GET /api/openapi.json HTTP/1.1\r\nHost: HOST\r\n\r\n',
  snapshot: 'GET /api/snapshot?fresh=1 HTTP/1.1\r\nHost: HOST\r\n\r\n',
  health: 'GET /api/health HTTP/1.1\r\nHost: HOST\r\n\r\n',
  bare: 'GET / HTTP/1.1\n\n',
  missing: 'GET /api/nothing HTTP/1.1\r\nHost: HOST\r\n\r\n',
  invalid: 'POST /api/action HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  head: 'HEAD /api/snapshot HTTP/1.1\r\nHost: HOST\r\n\r\n',
  events: 'GET /api/events HTTP/1.1\r\nHost: HOST\r\n\r\n',
  foreign: 'GET /api/health HTTP/1.1\r\nHost: evil.example\r\n\r\n',
  header: `GET /api/health HTTP/1.1\r\nHost: HOST\r\nX-Long: ${'x'.repeat(200_000)}\r\n\r\n`,
  slow: 'GET /api/hea',
};
const PIPELINED_BYTES = 1 << 20;

function flood(target: string, count: number, shape: string): void {
  const port = Number(target);
  const one = SHAPES[shape]!.replaceAll('HOST', port ? `127.0.0.1:${port}` : 'localhost');
  const bytes = Buffer.from(shape === 'slow' ? one : one.repeat(Math.ceil(PIPELINED_BYTES / one.length)));
  const open = () => {
    const socket: Socket = port ? connect(port, '127.0.0.1') : connect(target);
    socket.pause();
    socket.on('error', () => {});
    socket.on('close', () => setTimeout(open, 20)); // reconnects after a refusal
    socket.once('connect', () => write(socket));
  };
  const write = (socket: Socket) => {
    if (shape === 'slow') return void socket.write(bytes);
    while (socket.writable && socket.write(bytes));
    socket.once('drain', () => write(socket));
  };
  for (let i = 0; i < count; i++) open();
}

const [target, count, shape] = process.argv.slice(2);
flood(target!, Number(count), shape!);
process.stdin.resume();
process.stdin.once('end', () => process.exit(0));
process.stdout.write('flooding\n');
