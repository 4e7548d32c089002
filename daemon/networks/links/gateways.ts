// Reads the IPv4 default gateways and their hardware addresses from the kernel's tables, without rights or processes.
import { createSocket } from 'node:dgram';
import { readText } from '../../system/files.ts';

export interface Gateway {
  address: string;
  /** Null until a packet was exchanged. */
  hardware: string | null;
}

/** The discard service (RFC 863). */
const DISCARD = 9;

/** Sends an empty packet to a gateway, so that the kernel asks for its hardware address. Never throws. */
export function greetGateway(address: string): void {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  socket.on('error', () => {});
  socket.send('', DISCARD, address, () => socket.close());
}

const UP_AND_GATEWAY = 0x3;
const COMPLETE = 0x2;

/** @param root where /proc is, in tests */
export function readGateways(root = ''): ReadonlyMap<string, Gateway> {
  return gatewaysOf(readText(`${root}/proc/net/route`) ?? '', readText(`${root}/proc/net/arp`) ?? '');
}

/**
 * The gateway of each device with a default route; of several, the one with the lowest metric.
 * @param routes /proc/net/route, whose addresses are hexadecimal in the machine's byte order
 * @param neighbors /proc/net/arp
 */
export function gatewaysOf(routes: string, neighbors: string): ReadonlyMap<string, Gateway> {
  const hardwareOf = new Map(
    neighbors.split('\n').flatMap(line => {
      const [address, , flags, hardware, , device] = line.trim().split(/\s+/);
      return Number(flags) & COMPLETE ? [[`${device} ${address}`, hardware!.toLowerCase()] as const] : [];
    }),
  );
  const best = new Map<string, { metric: number; address: string }>();
  for (const line of routes.split('\n')) {
    const [device = '', destination, gateway = '', flags = '', , , metric, mask] = line.trim().split(/\s+/);
    const isDefault = destination === '00000000' && mask === '00000000';
    if (!isDefault || (Number.parseInt(flags, 16) & UP_AND_GATEWAY) !== UP_AND_GATEWAY) continue;
    const address = Buffer.from(gateway, 'hex').reverse().join('.');
    const before = best.get(device);
    if (!before || Number(metric) < before.metric) best.set(device, { metric: Number(metric), address });
  }
  return new Map(
    [...best].map(([device, { address }]) => [
      device,
      { address, hardware: hardwareOf.get(`${device} ${address}`) ?? null },
    ]),
  );
}
