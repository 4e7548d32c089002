// Asks a beacon: a TLS server whose certificate proves a network, because its key can't be copied from outside.
import { createHash, timingSafeEqual } from 'node:crypto';
import { connect as connectTcp, type TcpNetConnectOpts } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect } from 'node:tls';
import type { Beacon } from '../../api/schema/traffic/networks.ts';

const LIMIT_MS = 5_000;

/** SHA-256 of the certificate that a server proves to have the key of, as hexadecimal digits. */
export function fingerprintOf(
  address: string,
  { localAddress, limitMs = LIMIT_MS }: { localAddress?: string | undefined; limitMs?: number } = {},
): Promise<string> {
  const [, bracketed, name, port] = /^(?:\[(.*)\]|(.*)):(\d+)$/.exec(address) ?? [];
  const host = bracketed ?? name ?? '';
  return new Promise((resolve, reject) => {
    const plain: TcpNetConnectOpts = { host, port: Number(port) };
    if (localAddress !== undefined) plain.localAddress = localAddress;
    const connection = connectTcp(plain);
    connection.on('error', reject);
    // the certificate is compared as a whole, so that its name and its signer do not matter
    const socket = connect({ socket: connection, rejectUnauthorized: false, minVersion: 'TLSv1.2' });
    const timer = setTimeout(() => connection.destroy(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
    socket.on('secureConnect', () => {
      const { raw } = socket.getPeerCertificate();
      resolve(createHash('sha256').update(raw).digest('hex'));
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection ended'));
    });
  });
}

/**
 * True if the beacon answers with its key on a link; false also where it can't be reached.
 * @param device the link's, from whose address the request goes out
 */
export async function isProven({ address, sha256 }: Beacon, device: string): Promise<boolean> {
  const own = networkInterfaces()[device]?.find(({ family }) => family === 'IPv4')?.address;
  const localAddress = address.startsWith('[') ? undefined : own;
  const fingerprint = await fingerprintOf(address, { localAddress }).catch(() => null);
  return fingerprint !== null && timingSafeEqual(Buffer.from(fingerprint, 'hex'), Buffer.from(sha256, 'hex'));
}
