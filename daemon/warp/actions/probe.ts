// Probes whether a local port answers as a proxy, in the protocols that apps will use.
import { connect, type Socket } from 'node:net';

export interface Answers {
  /** The port is open. */
  open: boolean;
  /** It accepts SOCKS5 without a login (RFC 1928). */
  socks5: boolean;
  /** It answers CONNECT (RFC 9110, section 9.3.6), whatever the answer is. */
  http: boolean;
}

/** The tunnel client's own check inside the tunnel: an address that is always there, and that it asks anyway. */
const INSIDE = '162.159.197.4:443';

/**
 * Asks 127.0.0.1:`port`. Never rejects.
 * @param limitMs for each of the two questions, which are asked at the same time
 */
export async function probeProxy(port: number, limitMs: number): Promise<Answers> {
  const connectLine = `CONNECT ${INSIDE} HTTP/1.1\r\nHost: ${INSIDE}\r\n\r\n`;
  const [greeting, status] = await Promise.all([
    answerTo(port, Buffer.from([5, 1, 0]), 2, limitMs),
    answerTo(port, Buffer.from(connectLine), 7, limitMs),
  ]);
  return {
    open: greeting !== null || status !== null,
    socks5: greeting?.equals(Buffer.from([5, 0])) ?? false,
    http: status?.toString('latin1') === 'HTTP/1.',
  };
}

/** The first `length` bytes of an answer; fewer when no more came in time, null without a listener. */
function answerTo(port: number, question: Buffer, length: number, limitMs: number): Promise<Buffer | null> {
  return new Promise(resolve => {
    let answer: Buffer | null = null;
    const socket: Socket = connect({ host: '127.0.0.1', port });
    const done = () => {
      clearTimeout(limit);
      socket.destroy();
      resolve(answer?.subarray(0, length) ?? null);
    };
    const limit = setTimeout(done, limitMs);
    socket.once('connect', () => {
      answer = Buffer.alloc(0);
      socket.write(question);
    });
    socket.on('data', piece => {
      answer = Buffer.concat([answer ?? Buffer.alloc(0), piece]);
      if (answer.length >= length) done();
    });
    socket.once('error', done);
    socket.once('close', done);
  });
}
