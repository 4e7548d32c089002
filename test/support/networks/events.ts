// Events of network services, and random orders of them.
import { NM } from '../../../daemon/networks/bus.ts';

const ROOT = '/org/freedesktop/NetworkManager';

/** A property that a service sets: object, interface, name, value. */
export type NetworkEvent = [path: string, interfaceName: string, name: string, value: unknown];

/** A laptop with six networks around it is docked and joins one of them; a VPN and a bridge come up as well. */
export const LAPTOP: NetworkEvent[] = [
  [ROOT, NM, 'Connectivity', 4],
  ...device('wlan0', 2, 'wifi'),
  [`${ROOT}/Devices/wlan0`, `${NM}.Device.Wireless`, 'ActiveAccessPoint', `${ROOT}/AccessPoint/1`],
  ...device('eth0', 1, 'dock'),
  ...device('docker0', 13, 'docker0'),
  ...device('CloudflareWARP', 16, 'warp'),
  ...[1, 2, 3, 4, 5, 6].flatMap((number): NetworkEvent[] => [
    [
      `${ROOT}/AccessPoint/${number}`,
      `${NM}.AccessPoint`,
      'Ssid',
      [...Buffer.from(number === 2 ? 'Net 1' : `Net ${number}`)],
    ],
    [`${ROOT}/AccessPoint/${number}`, `${NM}.AccessPoint`, 'HwAddress', `00:00:00:00:00:0${number}`],
    [`${ROOT}/AccessPoint/${number}`, `${NM}.AccessPoint`, 'RsnFlags', number === 2 ? 0 : 0x188],
  ]),
];

function device(name: string, type: number, connection: string): NetworkEvent[] {
  const [path, active] = [`${ROOT}/Devices/${name}`, `${ROOT}/ActiveConnection/${connection}`];
  return [
    [path, `${NM}.Device`, 'Interface', name],
    [path, `${NM}.Device`, 'DeviceType', type],
    [path, `${NM}.Device`, 'State', 100],
    [path, `${NM}.Device`, 'ActiveConnection', active],
    [active, `${NM}.Connection.Active`, 'Id', connection],
    [active, `${NM}.Connection.Active`, 'Uuid', `uuid-${connection}`],
  ];
}

/** mulberry32, so that a failure can be repeated. */
export function randomOf(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}
