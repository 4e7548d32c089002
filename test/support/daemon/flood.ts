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
  large: `POST /api/action HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`,
  chunked:
    'POST /api/action HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  pieces: `POST /api/action HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(60_000)}0\r\n\r\n`,
  document: document(`[[entry]]\n${Array.from({ length: 40_000 }, (_, i) => `key${i} = "value"`).join('\n')}`),
  unfinished: document('x'.repeat(1_000_000)).slice(0, -1_000),
  head: 'HEAD /api/snapshot HTTP/1.1\r\nHost: HOST\r\n\r\n',
  events: 'GET /api/events HTTP/1.1\r\nHost: HOST\r\n\r\n',
  foreign: 'GET /api/health HTTP/1.1\r\nHost: evil.example\r\n\r\n',
  header: `GET /api/health HTTP/1.1\r\nHost: HOST\r\nX-Long: ${'x'.repeat(200_000)}\r\n\r\n`,
  slow: 'GET /api/hea',
};

/** A request with a long document, which is checked and refused. */
function document(text: string): string {
  const body = JSON.stringify({ text });
  return `POST /api/routes/preview HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
const PIPELINED_BYTES = 1 << 20;

function flood(target: string, count: number, shape: string): void {
  const port = Number(target);
  const one = SHAPES[shape]!.replaceAll('HOST', port ? `127.0.0.1:${port}` : 'localhost');
  const bytes = Buffer.from(
    one.length > PIPELINED_BYTES || shape === 'slow' || shape === 'unfinished'
      ? one
      : one.repeat(Math.ceil(PIPELINED_BYTES / one.length)),
  );
  const open = () => {
    const socket: Socket = port ? connect(port, '127.0.0.1') : connect(target);
    socket.pause();
    socket.on('error', () => {});
    socket.on('close', () => setTimeout(open, 20)); // reconnects after a refusal
    socket.once('connect', () => write(socket));
  };
  const write = (socket: Socket) => {
    if (shape === 'slow' || shape === 'unfinished') return void socket.write(bytes);
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
