// The window offers help for each fault of the emulator: the daemon's tunnel meets the fault, the window shows the state.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Snapshot } from '../../daemon/api/schema.ts';
import { FAULTS as EMULATED } from '../../daemon/emulator/faults.ts';
import { Problem } from '../../daemon/problem.ts';
import { createLog, createState } from '../../daemon/state/store.ts';
import { createTunnel } from '../../daemon/warp/tunnel.ts';
import { emulator } from '../support/daemon/emulator.ts';
import { missing } from '../support/gnome/desktop.ts';
import { openStage, type Stage } from '../support/gnome/stage.ts';
import { freePort } from '../support/ports.ts';
import { third } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';

type Seen = (snapshot: Snapshot) => boolean;
const reason: Seen = ({ status }) => status.state === 'unable';
const blocked: Seen = ({ status }) => status.blocked !== null;
const up: Seen = ({ status }) => status.state === 'connected';
const odd: Seen = ({ status }) => status.state === 'unknown' && Boolean(status.raw) && status.blocked === null;

interface Fault {
  fault: string;
  seen: Seen;
  /** The title of the page, or what the page shows instead. */
  shows: string;
  /** The action. */
  offers: string;
  /** The request during the fault: to connect, nothing, or the proxy, whose failure stays on the page of the apps. */
  asks?: 'nothing' | 'proxy';
}

const row = (fault: string, seen: Seen, [shows, offers]: [string, string], asks?: Fault['asks']): Fault => ({
  fault,
  seen,
  shows,
  offers,
  asks,
});
const NOT_UNDERSTOOD = 'WARP reports something that Culvert does not understand.';

/** Every fault of the emulator: the state that shows it, what the window says, and what helps. */
const FAULTS: Fault[] = [
  row('service-down', blocked, ['The WARP service is not running', 'Start the Service']),
  row('connection-refused', blocked, ['The WARP service is not running', 'Start the Service']),
  row('socket-late=60000', blocked, ['The WARP service is not running', 'Start the Service']),
  row('terms', blocked, ['Set up WARP', 'Agree and Set Up']),
  row('not-registered', blocked, ['Set up WARP', 'Set Up']),
  row('not-authorized', blocked, ['You can’t change WARP here', 'Open Account']),
  row('policy-lock', ({ options }) => options.switchLocked === true, [
    'Managed by your organization · WARP can’t be turned off here.',
    'Mode',
  ]),
  row('hang', blocked, ['The WARP service does not answer', 'Restart WARP'], 'nothing'),
  row('hang-deaf', blocked, ['The WARP service does not answer', 'Restart WARP'], 'nothing'),
  row('grandchild=1', up, ['Connected', 'Disconnect']),
  row('cut', blocked, ['The WARP service is not running', 'Start the Service']),
  row('unknown-output', odd, [NOT_UNDERSTOOD, 'Disconnect']),
  row('huge', odd, [NOT_UNDERSTOOD, 'Disconnect']),
  row('slow=200', up, ['Connected', 'Disconnect']),
  row('json-exit-0', up, ['Connected', 'Disconnect']),
  row('json-exit-1', up, ['Connected', 'Disconnect']),
  row('text-errors', up, ['Connected', 'Disconnect']),
  row('listener-exits', up, ['Connected', 'Disconnect']),
  row('network-unstable', ({ status }) => status.network === 'unstable', ['Connected', 'Disconnect']),
  row('no-network', reason, ['You are offline', 'Network Settings']),
  row('happy-eyeballs-failed', reason, ['No Cloudflare server could be reached', 'Use HTTP/2']),
  row('dns-lookup-failed', reason, ['DNS does not work here', 'Run Checks']),
  row('insufficient-resource', reason, ['WARP has too many open files', 'Restart WARP']),
  row('not-in-api', seen => blocked(seen) || reason(seen), ['Cloudflare does not know this registration', 'Set Up']),
  row('proxy-silent', () => true, ['The local proxy does not answer.', 'Restart WARP'], 'proxy'),
  row('proxy-deaf', () => true, ['The local proxy does not answer.', 'Restart WARP'], 'proxy'),
  row('stuck=EstablishingConnection', ({ status }) => status.state === 'connecting', ['Connecting…', 'Cancel']),
  row('unable=CaptivePortalTimedOut', reason, ['This network wants you to sign in', 'Open Sign-in Page']),
  row(
    'reason=DisabledForWiFi',
    ({ status }) => status.reason !== null,
    ['Off on Wi-Fi', 'Trusted Networks'],
    'nothing',
  ),
];

interface Met {
  snapshot: Snapshot;
  refused: Problem | null;
}

/** State of the daemon after the fault, and its answer. */
async function meet({ fault, seen, asks }: Fault): Promise<Met> {
  const cli = await emulator({ connectMs: 10, proxy: fault === 'proxy-deaf' });
  await cli.control('reset', `fault=${fault}`, ...(asks === 'proxy' ? [`settings.proxyPort=${freePort()}`] : []));
  const home = mkdtempSync(join(tmpdir(), 'culvert-fault-'));
  const state = createState({ available: false, path: null, version: null, emulated: true });
  const tunnel = createTunnel({
    cli: cli.bin,
    emulated: true,
    env: cli.env,
    acceptedTerms: join(home, 'terms'),
    state,
    proxyLimitMs: 4000,
    log: createLog({ capacity: 50 }),
  });
  let refused: Problem | null = null;
  try {
    tunnel.start();
    await tunnel.refresh('all');
    // it may be refused: the state says why
    if (asks !== 'nothing')
      await tunnel.runAction({ action: asks === 'proxy' ? 'enableLocalProxy' : 'connect' }).catch(error => {
        assert.ok(error instanceof Problem, String(error));
        refused = error;
      });
    await until(
      () => seen(state.snapshot()),
      () => `${fault}: ${JSON.stringify(state.snapshot().status)}`,
    );
    return { snapshot: state.snapshot(), refused };
  } finally {
    await tunnel.stop();
    await cli.remove();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Those that are tried: in a short run some of those that the window shows alike. */
const TRIED = third(FAULTS, ({ shows, offers }) => `${shows} ${offers}`);

/** All that are tried, a few at a time: some wait for a limit to pass. */
function meetAll(): Map<string, Promise<Met>> {
  const met = new Map<string, Promise<Met>>();
  const lanes = [0, 1, 2].map(() => Promise.resolve<unknown>(null));
  TRIED.forEach((fault, i) => {
    const lane = i % lanes.length;
    const meeting = lanes[lane]!.then(() => meet(fault));
    lanes[lane] = meeting.catch(() => null);
    met.set(fault.fault, meeting);
  });
  return met;
}

/** The name without its value. */
const nameOf = (fault: string) => fault.replace(/=.*/, '');

test('every fault of the emulator is in the table', () => {
  assert.deepEqual(FAULTS.map(({ fault }) => nameOf(fault)).sort(), Object.keys(EMULATED).sort());
});

test('the table in the documentation is this one', () => {
  const lines = FAULTS.map(({ fault, shows, offers }) => `| \`${fault}\` | ${shows} | ${offers} |`);
  const document = readFileSync(new URL('../bench/README.md', import.meta.url), 'utf8');
  const missing = lines.filter(line => !document.includes(line));
  assert.deepEqual(missing, [], `test/bench/README.md lacks:\n${missing.join('\n')}`);
});

describe('the faults of the emulator', { skip: missing('xdotool'), concurrency: false }, () => {
  let stage: Stage;
  let met: Map<string, Promise<Met>>;

  before(async () => {
    met = meetAll();
    stage = await openStage();
    await stage.daemon.listen();
    await stage.find('Disconnected');
  });
  after(async () => {
    await Promise.allSettled(met.values());
    await stage.desktop.close();
    await stage.daemon.stop();
  });
  const show = async ({ status, settings, options }: Snapshot) => {
    const { daemon } = stage;
    await stage.turn('connection');
    daemon.set('options', options);
    daemon.set('settings', { 'WARP tunnel protocol': 'MASQUE', ...settings });
    daemon.set('status', status);
    await stage.settled();
  };

  for (const { fault, shows, offers, asks } of TRIED)
    test(`${fault} shows “${shows}” and leads to “${offers}”`, async () => {
      const { snapshot, refused } = await met.get(fault)!;
      await show(snapshot);
      if (asks === 'proxy') {
        stage.daemon.onAction = () => {
          throw refused!.toJSON();
        };
        await stage.turn('apps');
        await stage.press('Tunnel Only Chosen Apps');
        await stage.press('Tunnel Chosen Apps');
      }
      await stage.find(shows);
      const { sensitive } = await stage.find(offers);
      assert.equal(sensitive, true);
    });
});
