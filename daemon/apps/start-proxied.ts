// Starts an app through the local proxy, or refuses if its traffic would bypass the proxy.
import { dirname } from 'node:path';
import type { FeatureContext } from '../controls.ts';
import { makeDirectory, replaceFile } from '../core/files.ts';
import { findProgram } from '../core/run-helper.ts';
import { Problem } from '../problem.ts';
import { message, wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';
import { probeProxy } from '../warp/actions/ports.ts';
import type { Launchable } from './catalog.ts';
import { commandLineOf, fileNameOf, type LocalProxy, recipeFor } from './command-line.ts';
import type { Described } from './describe.ts';
import { flag, text } from './desktop-entry.ts';
import { ownsBusName, runsWithoutProxy } from './escapes.ts';
import { type Launched, launch, sessionEnv } from './launch.ts';
import { traceThrough } from './trace.ts';

const PROBE_MS = 3000;

/**
 * Returns the local proxy if it answers.
 * @throws Problem proxy-not-enabled, proxy-not-answering
 */
export async function openProxy({ tunnel, state }: FeatureContext): Promise<LocalProxy> {
  await tunnel.refresh('stale');
  const { settings: now, tunnel: facts, status } = state.snapshot();
  const hint = 'Switch it on with the action enableLocalProxy.';
  if (now.Mode !== 'proxy' || facts.proxyPort === null)
    throw new Problem('proxy-not-enabled', 'The local proxy is off, so nothing was started.', { hint });
  const port = facts.proxyPort;
  const { open, socks5, http } = await probeProxy(port, PROBE_MS);
  // while the tunnel is down, a listener on that port is not the tunnel's proxy
  if (!open || (status.state !== 'connected' && status.state !== 'connecting'))
    throw new Problem(
      'proxy-not-enabled',
      `The mode is proxy, but the tunnel is ${status.state}${open ? '' : ` and nothing listens on 127.0.0.1:${port}`}. Nothing was started.`,
      { hint },
    );
  if (!socks5)
    throw new Problem(
      'proxy-not-answering',
      `127.0.0.1:${port} is open, but does not answer as a SOCKS5 proxy. Nothing was started.`,
    );
  return { host: '127.0.0.1', port, http };
}

/** Refuses a demo without asking the page. @throws Problem proxy-not-verified */
export async function verifyTunnel(port: number, { settings, state, env }: FeatureContext): Promise<void> {
  if (state.snapshot().tunnelCli.emulated)
    throw new Problem('proxy-not-verified', 'The demo tunnels nothing that could be verified. Nothing was started.');
  const { through, seen } = await traceThrough(port, settings.config.warp.traceUrl, env);
  if (!through)
    throw new Problem(
      'proxy-not-verified',
      `It could not be verified that the proxy leads through the tunnel: ${wordMessage(seen, english)}. Nothing was started.`,
    );
}

/**
 * Starts the app with the command line that its family needs to use the proxy.
 * @param watched true to report a failure after the first moment
 * @throws Problem app-launch-failed
 */
export async function startApp(
  launchable: Launchable,
  { proxy, watched }: { proxy: LocalProxy; watched: boolean },
  { env, paths }: FeatureContext,
): Promise<Launched> {
  const { app, entry } = launchable;
  const line = commandLineOf(launchable)!;
  const { args, located } = line;
  const session = sessionEnv(env);
  await refuseRunning(app, session, {
    binary: located.packaging === 'native' ? findProgram(args[located.at]!, session.PATH ?? '') : null,
    busName: flag(entry, 'DBusActivatable') ? app.id.replace(/\.desktop$/, '') : null,
  });

  const directories = { home: session.HOME ?? '/', state: paths.state };
  const recipe = recipeFor(app, line, proxy, directories);
  try {
    for (const file of recipe.files) {
      makeDirectory(dirname(file.path));
      replaceFile(file.path, file.text);
    }
    return await launch(
      {
        argv: recipe.argv,
        env: recipe.env,
        directory: text(entry, 'Path') || null,
        terminal: flag(entry, 'Terminal'),
        label: fileNameOf(app.id),
        description: `${app.name} (through WARP)`,
        watched,
      },
      env,
    );
  } catch (cause) {
    const { message } = cause as Error;
    throw new Problem('app-launch-failed', `${app.name} did not start. ${message}`, {}, cause);
  }
}

/** Refuses a running app, which would open the window without the proxy. Browsers get a separate profile instead. */
async function refuseRunning(
  app: Described,
  session: NodeJS.ProcessEnv,
  { binary, busName }: { binary: string | null; busName: string | null },
): Promise<void> {
  if (app.kind === 'chromium' || app.kind === 'firefox') return;
  const runs =
    (app.kind === 'electron' && binary !== null && runsWithoutProxy(binary)) ||
    (busName !== null && (await ownsBusName(busName, session)));
  if (runs)
    throw new Problem(
      'app-launch-failed',
      message(
        '%s is already running and would open the new window itself, without the proxy. Nothing was started.',
        app.name,
      ),
      { hint: `Close ${app.name}, then try again.` },
    );
}
