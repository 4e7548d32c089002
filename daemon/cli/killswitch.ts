// `culvert killswitch`: blocks traffic outside the tunnel, lets it through for a while, or says how it stands.
import type { KillSwitch } from '../api/schema.ts';
import { type Context, type Run, show } from './context.ts';
import { EXIT, Failure, usage } from './exit.ts';
import { createProgress } from './progress.ts';
import { printable, type Style } from './terminal.ts';

export const killSwitchStatus: Run = async context => {
  show(context, await context.client.call('GET /api/killswitch'), state => describe(state, context.style));
  return EXIT.ok;
};

export const killSwitchOn: Run = async (context, _, options) => {
  const allowLan = options.allowLan === true;
  if (options.force !== true) await considerSession(context, allowLan);
  return set(context, true, allowLan);
};
export const killSwitchOff: Run = context => set(context, false, false);

export const killSwitchPause: Run = async (context, [minutes = ''], options) => {
  const seconds = Math.round(Number(minutes) * 60);
  if (!/^\d{1,2}(\.\d{1,3})?$/.test(minutes) || seconds < 1 || seconds > 3600)
    throw usage(`A pause has up to 60 minutes, not "${minutes}".`);
  const state = await context.client.call('POST /api/killswitch/pause', { body: { seconds } });
  if (options.wait !== true) show(context, state, () => describe(state, context.style));
  else await countDown(context, state);
  return EXIT.ok;
};

export const killSwitchResume: Run = async context => {
  const state = await context.client.call('POST /api/killswitch/pause', { body: { seconds: 0 } });
  show(context, state, () => describe(state, context.style));
  return EXIT.ok;
};

/** Prints the script that installs the root service; needs no daemon. */
export const killSwitchInstaller: Run = async context => {
  const [{ installerScript }, { programs }, { dirname }] = await Promise.all([
    import('../killswitch/installer.ts'),
    import('../place.ts'),
    import('node:path'),
  ]);
  if (context.stdout.isTTY) context.say('This is a script for root: culvert killswitch installer | sudo sh');
  context.stdout.write(installerScript(dirname(programs.panel)));
  return EXIT.ok;
};

async function set(context: Context, enabled: boolean, allowLan: boolean): Promise<number> {
  const state = await context.client.call('POST /api/killswitch', { body: { enabled, allowLan } });
  show(context, state, () => describe(state, context.style));
  if (enabled && state.active === false && state.pausedUntil === null)
    throw new Failure('It was turned on but does not block.', { hint: 'See: culvert doctor' });
  return EXIT.ok;
}

/** Blocking cuts a session that came from outside: its answers would leave outside the tunnel. */
async function considerSession(context: Context, allowLan: boolean): Promise<void> {
  const peer = cutPeer(context.env.SSH_CONNECTION, allowLan);
  if (peer === null) return;
  if ((await context.client.call('GET /api/killswitch')).active) return; // this session lives with the block already
  const warning = `You are connected over SSH from ${printable(peer)}, and the block would cut this session off.`;
  const hint = isLan(peer)
    ? 'Leave the local network reachable with --allow-lan, or insist with --force.'
    : 'Insist with --force, if you can reach this machine in another way.';
  if (!context.stdin.isTTY || context.json) throw usage(warning, hint);
  context.say(warning);
  const { confirm } = await import('./secret.ts');
  if (!(await confirm(context, 'Turn it on all the same?')))
    throw new Failure('Nothing was changed.', { code: 'usage', hint });
}

/** The peer of an SSH session (`SSH_CONNECTION`: peer, its port, here, our port) that the block would cut off, or null. */
export function cutPeer(connection: string | undefined, allowLan: boolean): string | null {
  const peer = connection
    ?.trim()
    .split(/\s+/)[0]
    ?.replace(/%.*$/, '')
    .replace(/^::ffff:/i, '');
  if (!peer || /^127\.|^::1$/.test(peer)) return null;
  return allowLan && isLan(peer) ? null : peer;
}

function isLan(address: string): boolean {
  return /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|fe[89ab][\da-f]:|f[cd][\da-f]{2}:)/i.test(address);
}

/** Shows what is left of a pause until the block is back. Ctrl+C leaves the pause as it is. */
async function countDown(context: Context, state: KillSwitch): Promise<void> {
  const progress = createProgress(context);
  let now = state;
  try {
    const stream = await context.client.events();
    const close = () => stream.close();
    context.signal.addEventListener('abort', close, { once: true });
    const tick = () => progress.step(`${remaining(now)} left of the pause; Ctrl+C leaves it paused`);
    const timer = context.stderr.isTTY ? setInterval(tick, 1000) : undefined;
    tick();
    try {
      for await (const { event, data } of stream.events) {
        if (event === 'snapshot') now = data.killSwitch;
        if (event === 'killSwitch') now = data;
        if (now.pausedUntil === null) break;
      }
    } finally {
      clearInterval(timer);
      context.signal.removeEventListener('abort', close);
      stream.close();
    }
  } finally {
    progress.end();
  }
  show(context, { ok: true, ...now }, () => describe(now, context.style));
}

function describe(state: KillSwitch, style: Style): string {
  const { enabled, allowLan, active, detail, pausedUntil, installed, command } = state;
  const lines = [
    [
      `Kill switch ${enabled ? 'on' : 'off'}${enabled && allowLan ? ', local network allowed' : ''}`,
      measured(state, style),
    ]
      .join('; ')
      .concat('.'),
  ];
  if (pausedUntil !== null) lines.push(style.yellow(`Paused, ${remaining(state)} left.`));
  if (detail && pausedUntil === null) lines.push(printable(detail));
  if (active && state.protection === 'none') lines.push('Nothing answers if another program removes the rules.');
  if (enabled && active && !state.bootGuard) lines.push('It will not block while the machine starts.');
  if (!installed && command) lines.push(`Install it with: ${printable(command)}`);
  return lines.join('\n');
}

function measured({ enabled, active, pausedUntil }: KillSwitch, style: Style): string {
  if (active === null) return style.yellow('whether it blocks is not known');
  if (active) return style.green('it blocks');
  return enabled && pausedUntil === null ? style.red('it does not block') : 'it does not block';
}

/** `4:59` */
function remaining({ pausedUntil }: KillSwitch): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(pausedUntil ?? '') - Date.now()) / 1000)) || 0;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
