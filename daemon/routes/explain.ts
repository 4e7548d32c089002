// Answers `POST /api/why` for one target with a forecast, the kernel's routes and the system resolver's answers.
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { execa } from 'execa';
import * as z from 'zod/mini';
import type { Snapshot, Why } from '../api/schema.ts';
import type { Message } from '../api/values.ts';
import { errno, reason } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { message, quoted, WordedError, wordingOf, wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';
import { TUNNEL_DEVICE } from './session.ts';
import { forecast, type KernelAnswer, parseTarget } from './why.ts';

/** Maximum number of addresses of a host; each address costs one process. */
const MAX_ADDRESSES = 8;

/**
 * @param text an address, a host name or a URL
 * @throws Problem invalid-body for any other text
 */
export async function explain(text: string, snapshot: Snapshot, env: NodeJS.ProcessEnv): Promise<Why> {
  const target = parseTarget(text);
  if (!target)
    throw new Problem('invalid-body', message('The target is not an address, a host name or a URL.'), {
      hint: 'Ask for something like 192.0.2.1, 2001:db8::1, www.example.com or https://www.example.com/.',
    });
  const { addresses, problem } =
    target.kind === 'ip' ? { addresses: [target.value], problem: null } : await addressesOf(target.value);
  const answers = await Promise.all(
    addresses
      .slice(0, MAX_ADDRESSES)
      .map(async address => ({ address, own: isOwn(address), kernel: await routeOf(address, env) })),
  );
  const why = forecast(target, answers, snapshot);
  if (!problem) return { ok: true, ...why, resolveProblem: null };
  return { ok: true, ...why, resolveProblem: wordMessage(problem, english), wording: [problem] };
}

const LIMIT_MS = 2_000;

/** The kernel's errors for no route, and for routes of the types unreachable, blackhole and prohibit (ip-route(8)). */
const NOWHERE = /^RTNETLINK answers: (Network is unreachable|No route to host|Invalid argument|Permission denied)$/m;

const RouteGet = z.array(
  z.object({
    dev: z.optional(z.string()),
    gateway: z.optional(z.string()),
    /** A gateway of the other address family. */
    via: z.optional(z.object({ host: z.string() })),
    prefsrc: z.optional(z.string()),
  }),
);

/** Runs `ip -j route get ADDRESS` (iproute2), which needs no privileges. Never rejects. */
export async function routeOf(address: string, env: NodeJS.ProcessEnv): Promise<KernelAnswer> {
  const { failed, code, timedOut, stdout, stderr, shortMessage } = await execa('ip', ['-j', 'route', 'get', address], {
    env: { PATH: `${env.PATH ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' },
    extendEnv: false,
    stdin: 'ignore',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
    reject: false,
  });
  if (!failed) return parseRouteGet(stdout);
  const refusal = NOWHERE.exec(stderr)?.[1];
  if (refusal) return { route: { device: null, gateway: null, source: null, tunnel: false, refusal } };
  if (code === 'ENOENT') return { problem: message('ip is not installed (package iproute2)') };
  if (timedOut) return { problem: message('ip gave no answer within %s s', String(LIMIT_MS / 1000)) };
  return { problem: quoted(stderr.trim().split('\n')[0] || shortMessage || 'ip failed') };
}

/** True for an address of this machine, regardless of the routes. */
export function isOwn(address: string): boolean {
  if (/^127\.|^::1$/.test(address)) return true;
  return Object.values(networkInterfaces()).some(list => list?.some(each => each.address === address));
}

/** Reads the JSON of `ip -j route get`. */
export function parseRouteGet(text: string): KernelAnswer {
  try {
    const [route] = z.parse(RouteGet, JSON.parse(text));
    if (!route) return { problem: message('ip printed no route') };
    const { dev = null, via, gateway = via?.host ?? null, prefsrc = null } = route;
    return { route: { device: dev, gateway, source: prefsrc, tunnel: dev === TUNNEL_DEVICE } };
  } catch (error) {
    return { problem: message('the answer of ip is not understood: %s', reason(error)) };
  }
}

/** Returns a message for an error of getaddrinfo(3); other errors already have one. */
function lookupProblem(error: unknown): Message {
  if (errno(error) === 'ENOTFOUND') return message('the name does not exist');
  if (errno(error) === 'EAI_AGAIN') return message('no name server answered');
  return wordingOf(error)[0]!;
}

/** Returns the addresses of a host as programs on this machine resolve them. */
export async function addressesOf(host: string): Promise<{ addresses: string[]; problem: Message | null }> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new WordedError(message('no answer within %s s', String(LIMIT_MS / 1000)))),
      LIMIT_MS,
    );
  });
  try {
    const addresses = await Promise.race([lookup(host, { all: true }), limit]);
    return { addresses: [...new Set(addresses.map(({ address }) => address))], problem: null };
  } catch (error) {
    return { addresses: [], problem: lookupProblem(error) };
  } finally {
    clearTimeout(timer);
  }
}
