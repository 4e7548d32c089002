// Runs `culvert web` and `token`, which turn the browser page on and off, open it, and print its address and token.
import type { ConfigResponse } from '../../../api/schema.ts';
import { readToken } from '../../../http/token.ts';
import { type Context, type Run, show } from '../../context.ts';
import { EXIT, Failure } from '../../errors.ts';
import { withDaemon } from './daemon.ts';

/** Turns the page on if it is off, opens it unless `--no-open` is given, and prints its address. */
export const web: Run = async (context, _words, options) => {
  const before = await readConfig(context);
  const response = await setEnabled(context, before, true);
  const url = await addressOf(context);
  const wanted = options.open !== false && response.config.ui.openBrowser && !context.json;
  const obstacle = wanted ? await open(context, url) : null;
  show(context, { ok: true, enabled: true, url }, () => url);
  if (!before.config.webui.enabled)
    context.say('The page stays on, also after a restart. Turn it off: culvert web off');
  if (obstacle) context.say(`It was not opened, because ${obstacle}.`);
  return EXIT.ok;
};

export const webOff: Run = async context => {
  await setEnabled(context, await readConfig(context), false);
  show(context, { ok: true, enabled: false }, () => 'The browser page is off.');
  return EXIT.ok;
};

async function setEnabled({ client }: Context, current: ConfigResponse, enabled: boolean) {
  if (current.config.webui.enabled === enabled) return current;
  const response = await client.call('POST /api/config/user', { body: { webui: { enabled } } });
  if (response.config.webui.enabled === enabled) return response;
  throw new Failure(
    `webui.enabled stays ${!enabled}: the ${response.sources['webui.enabled']} layer of the configuration sets it.`,
    { hint: 'It comes from CULVERT_WEBUI, CULVERT_WEBUI_ENABLED or "culvert config set --session".' },
  );
}

/** Reads the configuration; starts the daemon if needed. */
function readConfig(context: Context): Promise<ConfigResponse> {
  return withDaemon(
    context,
    () => context.client.call('GET /api/config'),
    async () => context.say('Starting the Culvert daemon.'),
  );
}

async function addressOf({ client }: Context): Promise<string> {
  const { port } = await client.call('GET /api/health');
  if (port === null) throw new Failure('The daemon has no TCP port yet.', { hint: 'Try again in a moment.' });
  return `http://127.0.0.1:${port}/`;
}

async function open({ env }: Context, url: string): Promise<string | null> {
  const { openInBrowser } = await import('../../../system/session.ts');
  return openInBrowser(url, env);
}

export const token: Run = async context => {
  show(context, { ok: true, token: await readToken(context.paths.token, { create: true }) }, answer => answer.token);
  return 0;
};
