// Reads interfaces, routes and rules from `ip` of iproute2, once for all checks.
import * as z from 'zod/mini';
import { parseJson } from '../../core/shape.ts';
import { VPN_DEVICE } from '../../routes/session.ts';
import { message } from '../../view/message.ts';
import { NoVerdict } from '../errors.ts';
import type { World } from './world.ts';

const Link = z.object({
  ifname: z.string(),
  mtu: z._default(z.int(), 0),
  flags: z._default(z.array(z.string()), []),
  operstate: z.optional(z.string()),
  link_type: z.optional(z.string()),
  linkinfo: z.optional(z.object({ info_kind: z.optional(z.string()) })),
  addr_info: z._default(
    z.array(
      z.object({
        family: z.optional(z.string()),
        local: z.optional(z.string()),
        prefixlen: z.optional(z.int()),
        scope: z.optional(z.string()),
      }),
    ),
    [],
  ),
});
export type Link = z.infer<typeof Link>;
const Route = z.object({
  dst: z.optional(z.string()),
  dev: z.optional(z.string()),
  gateway: z.optional(z.string()),
  table: z.optional(z.union([z.string(), z.int()])),
  type: z.optional(z.string()),
  metric: z.optional(z.int()),
});
export type Route = z.infer<typeof Route>;

/** The interface of the tunnel client. */
export const TUNNEL_LINK = 'CloudflareWARP';
/** The routing table of the tunnel client. */
export const TUNNEL_TABLE = '65743';

/** Returns the tunnel's current server, or the documented server. */
export function ingress(world: World): string {
  const [endpoint = ''] = world.tunnel?.tunnel.endpoints ?? [];
  return /^(\d+\.\d+\.\d+\.\d+)(?::\d+)?$/.exec(endpoint)?.[1] ?? world.targets.tunnel;
}

/** Query for the client's own packets: their mark skips the client's table (see its routing rule). */
const markedRoute = (host: string) => ['route', 'get', host, 'mark', '0x100cf'];

type Part = 'addr' | 'routes' | 'rules' | 'path';
const ROUTES = ['route', 'show', 'table', 'all'];

/** Returns all parts from one run of `ip`; null if a part fails or prints nothing in this version. */
function together(world: World): Promise<Record<Part, unknown> | null> {
  return world.once('ip', async () => {
    const commands = [['addr'], ROUTES, ['rule'], markedRoute(ingress(world))];
    const input = commands.map(words => `${words.join(' ')}\n`).join('');
    // -d prints the kind of an interface
    const { exitCode, stdout } = await world.tools.run('ip', ['-j', '-d', '-batch', '-'], { input, mebibytes: 4 });
    const lines = stdout.trim().split('\n');
    if (exitCode !== 0 || lines.length !== commands.length) return null;
    const [addr, routes, rules, path] = lines.map(parseJson);
    return { addr, routes, rules, path };
  });
}

/** Returns a part of the combined run, or the result of a separate run. */
async function read<T>(world: World, part: Part, args: string[], schema: z.ZodMiniType<T>): Promise<T[]> {
  const all = await together(world);
  const parsed = all && z.safeParse(z.array(schema), all[part]);
  return parsed?.success ? parsed.data : readAlone(world, args, schema);
}

/** Returns the interfaces with kind and addresses. @throws NoVerdict */
export function links(world: World): Promise<Link[]> {
  return world.once('links', () => read(world, 'addr', ['-d', 'addr'], Link));
}

/** Returns the routes of all tables and both families. @throws NoVerdict */
export function routes(world: World): Promise<Route[]> {
  return world.once('routes', async () => (await read(world, 'routes', ROUTES, Route)).map(plain));
}

/** Removes values that `ip` prints only with `-details`. */
function plain({ table, type, ...route }: Route): Route {
  const named = table === undefined || table === 'main' ? {} : { table };
  return { ...route, ...named, ...(type === undefined || type === 'unicast' ? {} : { type }) };
}

/** Returns the policy rules of both families, as printed. @throws NoVerdict */
export function rules(world: World): Promise<{ family: 4 | 6; rule: Record<string, unknown> }[]> {
  return world.once('rules', async () => {
    const Rule = z.record(z.string(), z.unknown());
    const [four, six] = await Promise.all([
      read(world, 'rules', ['-4', 'rule'], Rule),
      readAlone(world, ['-6', 'rule'], Rule),
    ]);
    return [
      ...four.map(({ protocol: _, ...rule }) => ({ family: 4 as const, rule })),
      ...six.map(rule => ({ family: 6 as const, rule })),
    ];
  });
}

const RouteGet = z.array(z.object({ metrics: z.optional(z.array(z.object({ mtu: z.optional(z.int()) }))) }));

/**
 * Returns the MTU to the ingress that a router has reported to the kernel, or null.
 * @param when `again` after packets were sent
 * @throws NoVerdict
 */
export async function learnedMtu(world: World, when: 'again' | 'once'): Promise<number | null> {
  const all = when === 'once' ? await together(world) : null;
  const parsed = all && z.safeParse(RouteGet, all.path);
  if (parsed?.success) return mtuOf(parsed.data);
  const { exitCode, stdout } = await world.tools.run('ip', ['-j', ...markedRoute(ingress(world))]);
  if (exitCode !== 0) return null;
  try {
    return mtuOf(z.parse(RouteGet, JSON.parse(stdout)));
  } catch (error) {
    throw new NoVerdict(message('The output of %s was not understood.', 'ip route get'), error);
  }
}

function mtuOf([route]: z.infer<typeof RouteGet>): number | null {
  return route?.metrics?.find(({ mtu }) => mtu)?.mtu ?? null;
}

async function readAlone<T>(world: World, args: string[], schema: z.ZodMiniType<T>): Promise<T[]> {
  const { exitCode, stdout, stderr } = await world.tools.run('ip', ['-j', ...args]);
  if (exitCode !== 0) throw new NoVerdict(message('%s failed: %s', `ip ${args.join(' ')}`, stderr.trim()));
  try {
    // an empty table prints nothing
    return z.parse(z.array(schema), JSON.parse(stdout.trim() || '[]'));
  } catch (error) {
    throw new NoVerdict(message('The output of %s was not understood.', `ip ${args.join(' ')}`), error);
  }
}

/** Returns the tunnel's interface, or undefined while it is down. */
export async function tunnelLink(world: World): Promise<Link | undefined> {
  return (await links(world)).find(({ ifname }) => ifname === TUNNEL_LINK);
}

const TUNNEL_KINDS = new Set(['wireguard', 'tun', 'ppp', 'ipip', 'sit', 'gre', 'vti', 'xfrm']);

/** True for an interface of another VPN that is up. */
export function isOtherTunnel({ ifname, linkinfo, flags }: Link): boolean {
  if (ifname === TUNNEL_LINK || !flags.includes('UP')) return false;
  return TUNNEL_KINDS.has(linkinfo?.info_kind ?? '') || VPN_DEVICE.test(ifname);
}

const BRIDGES = /^(docker\d|br-[0-9a-f]{12}|podman\d|cni-podman\d|cni\d|virbr\d|lxcbr\d|lxdbr\d|incusbr\d)/;

/** Returns the bridges of containers and virtual machines. */
export async function bridges(world: World): Promise<Link[]> {
  return (await links(world)).filter(({ ifname }) => BRIDGES.test(ifname));
}

/** Returns the interface to the Internet outside the tunnel: the best default route of a main table uses it. */
export async function uplink(world: World): Promise<Link | undefined> {
  const [all, table] = await Promise.all([links(world), routes(world)]);
  const [best] = table
    .filter(({ dst, dev, table: name }) => dst === 'default' && dev && dev !== TUNNEL_LINK && !name)
    .sort((a, b) => (a.metric ?? 0) - (b.metric ?? 0));
  return all.find(({ ifname }) => ifname === best?.dev);
}
