// Asks a beacon: a TLS server with a certificate that proves a network, because its key can't be copied from outside.
import { timingSafeEqual } from 'node:crypto';
import { connect as connectTcp, type TcpNetConnectOpts } from 'node:net';
import { connect } from 'node:tls';
import type { Beacon } from '../../api/networks.ts';
import { sha256 } from '../../core/hash.ts';
import { addressesOf, routeOf } from '../../routes/explain.ts';
import type { KernelAnswer } from '../../routes/why.ts';

const LIMIT_MS = 5_000;

/** Returns the SHA-256 of a server's certificate, as hexadecimal digits; the server proves that it has the key. */
export function fingerprintOf(
  address: string,
  { localAddress, limitMs = LIMIT_MS }: { localAddress?: string | undefined; limitMs?: number } = {},
): Promise<string> {
  const { host, port } = partsOf(address);
  return new Promise((resolve, reject) => {
    const plain: TcpNetConnectOpts = { host, port };
    if (localAddress !== undefined) plain.localAddress = localAddress;
    const connection = connectTcp(plain);
    connection.on('error', reject);
    // the fingerprint covers the whole certificate, so the name and the signer do not matter
    const socket = connect({ socket: connection, rejectUnauthorized: false, minVersion: 'TLSv1.2' });
    const timer = setTimeout(() => connection.destroy(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
    socket.on('secureConnect', () => {
      const { raw } = socket.getPeerCertificate();
      resolve(sha256(raw));
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
 * True if the beacon answers with its key inside the network of a link; false also if it can't be reached.
 * @param device device of the link. The kernel must reach the beacon directly by this device: a tunnel, a router or another
 * link might lead to the real beacon from a network that copies the rest of the rule
 */
export async function isProven(
  { address, sha256 }: Beacon,
  device: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<boolean> {
  const { host, port } = partsOf(address);
  const [target] = (await addressesOf(host)).addresses;
  if (target === undefined) return false;
  const source = async () => directSource(await routeOf(target, env), device);
  const localAddress = await source();
  if (localAddress === null) return false;
  const there = target.includes(':') ? `[${target}]:${port}` : `${target}:${port}`;
  const fingerprint = await fingerprintOf(there, { localAddress }).catch(() => null);
  const isKey = fingerprint !== null && timingSafeEqual(Buffer.from(fingerprint, 'hex'), Buffer.from(sha256, 'hex'));
  // the tunnel may have come up in the meantime
  return isKey && (await source()) === localAddress;
}

/** Returns the address from which the kernel sends to a neighbor on a link; null if it sends by a router or another device. */
export function directSource(answer: KernelAnswer, device: string): string | null {
  if ('problem' in answer) return null;
  const { device: actual, gateway, source } = answer.route;
  return actual === device && gateway === null ? source : null;
}

function partsOf(address: string): { host: string; port: number } {
  const [, bracketed, name, port] = /^(?:\[(.*)\]|(.*)):(\d+)$/.exec(address) ?? [];
  return { host: bracketed ?? name ?? '', port: Number(port) };
}
