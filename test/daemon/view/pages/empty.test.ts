// Empty pages of every client: a title, one sentence, and a button where an action helps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../../daemon/view/form.ts';
import { emptyStatus } from '../../../../daemon/view/log.ts';
import { FORM_PAGES } from '../../../../daemon/view/pages/all.ts';
import { NOT_RECORDED, TRUST } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';
import { client, INSTALLED, opened, settled } from '../../../support/gnome/view/world.ts';

const routes = (...values: string[]) =>
  client(
    clientState({
      splitTunnel: { mode: 'exclude', ips: values.map(value => ({ value, description: null })), hosts: [] },
    }),
  );

/** Opens a page, and answers its first request. @param answer an error fails the request */
async function answered(page: 'apps' | 'tools' | 'certificate' | 'history', answer: unknown) {
  const world = client(INSTALLED);
  const { shown, form } = opened(FORM_PAGES[page].open, world);
  if (answer instanceof Error) world.open[0]!.fail(answer);
  else world.open[0]!.answer(answer);
  await settled();
  const { status, list } = form();
  shown.close?.();
  return status ?? list?.empty;
}

/** The history's page of the newest statistics. */
function historyNow(): Status | undefined {
  const { shown, form } = opened(FORM_PAGES.history.open, client());
  shown.reveal?.('now');
  return form().status;
}

function searchedRoutes(): Status {
  const { form } = opened(FORM_PAGES.routes.open, routes('192.0.2.1/32'));
  form().search!.type('nothing');
  return form().list!.empty;
}

const log = (total: number, filtered: boolean) => emptyStatus({ total, filtered, showAll() {} }, tr);
const trust = { ...TRUST, certificates: [], refused: [], tools: [], removalDue: false };
const tools = { ok: true, tools: [], refreshing: false, problem: null };

/** The title of each empty page, and its button; null where only time or another program helps. */
const EMPTY: [title: string, button: string | null, status: () => Promise<Status | null | undefined>][] = [
  ['No apps', 'Try Again', () => answered('apps', { apps: [] })],
  ['Can’t list apps', 'Try Again', () => answered('apps', new Error('The disk is full.'))],
  ['No routes', 'Default Addresses…', async () => opened(FORM_PAGES.routes.open, routes()).form().list!.empty],
  ['Nothing found', 'Show all', async () => searchedRoutes()],
  ['No command-line tool with accounts found', 'How', () => answered('tools', tools)],
  ['Accounts can’t be shown', 'Try Again', () => answered('tools', new Error('The disk is full.'))],
  ['No organization certificate', 'Join an Organization…', () => answered('certificate', trust)],
  ['Not checked yet', 'Run Checks', async () => opened(FORM_PAGES.checks.open, client()).form().status],
  ['The history is turned off', 'Turn On', () => answered('history', { ...NOT_RECORDED, enabled: false })],
  ['Nothing recorded', null, () => answered('history', NOT_RECORDED)],
  ['No statistics yet', 'Connect', async () => historyNow()],
  ['Nothing found', 'Show all', async () => log(3, true)],
  ['Nothing to show', 'Show all', async () => log(3, false)],
  ['No commands yet', null, async () => log(0, false)],
];

for (const [title, button, read] of EMPTY)
  test(`the empty page “${title}” has one sentence, and ${button ? `the button “${button}”` : 'no button'}`, async () => {
    const status = await read();
    assert.deepEqual([status?.title, status?.buttons[0]?.label ?? null], [title, button]);
    assert.ok(status?.sentence, 'a sentence');
    assert.ok(!status.sentence.includes('\n'), status.sentence);
  });
