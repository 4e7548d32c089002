// `culvert portal`: signs in to a network with a login page, in a browser of its own, and brings WARP back afterwards.
import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../../api/client.ts';
import type { Snapshot } from '../../../api/schema.ts';
import { type Browser, openBrowser } from '../../../networks/portal/browser.ts';
import { probeNetwork, TARGETS, type Verdict } from '../../../networks/portal/probe.ts';
import { assertOwn } from '../../../system/own-home.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, Failure } from '../../errors.ts';

/** WARP comes back after this time at the latest, also where this command is killed. */
const SECONDS = 300;
const BETWEEN_MS = 3_000;
/** Plain HTTP, so that the network can put its page in its place. */
const PLAIN_PAGE = TARGETS[0]!.url;

/** Access to network and desktop. */
export interface World {
  probe(): Promise<Verdict>;
  browse(url: string): Browser | null;
  betweenMs: number;
}

export const portal: Run = async (context, _, options) =>
  signIn(context, options.check === true, {
    probe: probeNetwork,
    browse(url) {
      assertOwn(context.paths.runtime);
      mkdirSync(context.paths.runtime, { recursive: true, mode: 0o700 });
      return openBrowser(url, context.paths.runtime, context.env);
    },
    betweenMs: BETWEEN_MS,
  });

/** @param onlyChecks opens nothing, and leaves WARP as it is */
export async function signIn(context: Context, onlyChecks: boolean, world: World): Promise<number> {
  const snapshot = await context.client.call('GET /api/snapshot');
  if (snapshot.killSwitch.active === true)
    throw new Failure('The kill switch blocks the login page, and the test for it.', {
      hint: 'Pause it first: culvert killswitch pause 5. Everything on this machine may then send outside WARP.',
    });
  if (snapshot.status.state === 'connected') {
    show(context, { network: 'open', signedIn: false }, () => 'WARP is connected, so this network lets you through.');
    return EXIT.ok;
  }
  const before = await world.probe();
  if (before.network !== 'login' || onlyChecks) return report(context, before);
  const isPaused = await pause(context, snapshot);
  try {
    const isThrough = await untilThrough(context, world, before.loginPage ?? PLAIN_PAGE);
    show(context, { ok: isThrough, network: isThrough ? 'open' : 'login', signedIn: isThrough }, () =>
      isThrough ? 'You are signed in to this network.' : 'This network still asks for a login.',
    );
    return isThrough ? EXIT.ok : EXIT.failure;
  } finally {
    if (isPaused) await resume(context);
  }
}

const RESULTS: Record<Verdict['network'], string> = {
  open: 'This network asks for no login.',
  login: 'This network asks for a login.',
  unreachable: 'No page could be reached. Check the network itself.',
};

function report(context: Context, { network, loginPage }: Verdict): number {
  show(context, { ok: network !== 'unreachable', network, loginPage, signedIn: false }, () =>
    loginPage === null ? RESULTS[network] : `${RESULTS[network]} ${loginPage}`,
  );
  return network === 'unreachable' ? EXIT.failure : EXIT.ok;
}

/** Turns WARP off for a while: one that tries to connect may block the page. @returns whether it was on */
async function pause({ client, say }: Context, { status, tunnelCli }: Snapshot): Promise<boolean> {
  if (status.blocked !== null || status.state === 'disconnected' || !tunnelCli.available) return false;
  await client.call('POST /api/action', { body: { action: 'disconnect', forSeconds: SECONDS } });
  say(`WARP is paused, and comes back after the login, or in ${SECONDS / 60} minutes.`);
  return true;
}

async function resume({ client, say }: Context): Promise<void> {
  try {
    await client.call('POST /api/changes/revert', { body: { subject: 'connection' } });
    say('WARP connects again. Wait for it with: culvert wait --proof');
  } catch (error) {
    // the pause has ended in another way
    if (!(error instanceof ApiError && error.problem.code === 'nothing-pending')) throw error;
  }
}

/** Opens the page, and waits until the network lets requests through twice in a row, the browser is closed, or time is up. */
async function untilThrough(context: Context, world: World, url: string): Promise<boolean> {
  const browser = world.browse(url);
  if (!browser) context.say(`Open this page in a browser: ${url}`);
  let isClosed = false;
  void browser?.ended.then(() => {
    isClosed = true;
  });
  const until = performance.now() + SECONDS * 1000;
  try {
    for (let passes = 0; ; ) {
      const isLast = isClosed || performance.now() > until || context.signal.aborted;
      passes = (await world.probe()).network === 'open' ? passes + 1 : 0;
      if (passes >= 2) return true;
      if (isLast && passes === 0) return false;
      await delay(world.betweenMs, undefined, { signal: context.signal }).catch(() => {});
    }
  } finally {
    await browser?.close();
  }
}
