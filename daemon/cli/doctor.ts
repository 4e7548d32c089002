// `culvert doctor`: looks at everything that a working Culvert needs, and says of each what to do.
import { Unreachable } from '../api/client.ts';
import { type Context, type Run, show } from './context.ts';
import { daemonChecks, directoryCheck, type Found, offlineChecks } from './doctor-daemon.ts';
import { desktopChecks } from './doctor-desktop.ts';
import { EXIT } from './exit.ts';
import type { Style } from './terminal.ts';
import { printable } from './terminal.ts';

/** `broken` keeps Culvert from its work; `warning` costs a part of it. */
export type Level = 'ok' | 'warning' | 'broken';
export interface Check {
  name: string;
  level: Level;
  detail: string;
  /** What to do; null where nothing is to be done. */
  action: string | null;
}

export const doctor: Run = async context => {
  const found = await ask(context);
  const checks = [
    ...directoryCheck(context.paths),
    ...(found ? await daemonChecks(found, context.paths) : await offlineChecks(context.env, context.paths)),
    ...(await desktopChecks(context.env)),
  ];
  const ok = checks.every(({ level }) => level !== 'broken');
  show(context, { ok, checks }, () => checks.map(check => describe(check, context.style)).join('\n'));
  return ok ? EXIT.ok : EXIT.failure;
};

/** What the daemon says of itself; null when it does not run. */
async function ask({ client }: Context): Promise<Found | null> {
  try {
    const [health, snapshot, config] = await Promise.all([
      client.call('GET /api/health'),
      client.call('GET /api/snapshot', { query: { fresh: '1' } }),
      client.call('GET /api/config'),
    ]);
    return { health, snapshot, config };
  } catch (error) {
    if (error instanceof Unreachable) return null;
    throw error;
  }
}

const MARK: Record<Level, [symbol: string, colour: keyof Style]> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  broken: ['✗', 'red'],
};

function describe({ name, level, detail, action }: Check, style: Style): string {
  const [symbol, colour] = MARK[level];
  const line = `${style[colour](symbol)} ${style.bold(name)}: ${printable(detail)}`;
  return action ? `${line}\n    ${printable(action)}` : line;
}
