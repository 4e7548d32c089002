// Every list that a user adds to and removes from offers the undo of each change, which leads back to the same list.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ActionRequest } from '../../../../daemon/api/schema.ts';
import type { Command, Form } from '../../../../daemon/view/form.ts';
import { FORM_PAGES } from '../../../../daemon/view/pages/all.ts';
import { runCommand } from '../../../../daemon/view/pages/run-command.ts';
import { rowsOf } from '../../../support/gnome/view/forms.ts';
import { clientState } from '../../../support/gnome/view/translator.ts';
import { client, opened } from '../../../support/gnome/view/world.ts';

const STATE = clientState({
  splitTunnel: {
    mode: 'exclude',
    ips: ['192.0.2.1', '192.0.2.0/24', '10.0.0.0/8'].map(value => ({ value, description: null })),
    hosts: [{ value: 'example.com', description: 'Printer' }],
  },
  options: { fallbackDomains: ['corp', 'lan'].map(domain => ({ domain, note: null })), trustedSsids: ['Home'] },
});

/** Texts to add to each list, by the page and the ID of its entry row. */
const ADDED: Record<'routes' | 'dns' | 'networks', Record<string, string[]>> = {
  routes: { add: ['198.51.100.7', '198.51.100.0/24', '2001:db8::/32', 'example.org', '*.example.net'] },
  dns: { 'fallback-add': ['internal.example'] },
  networks: { 'ssid-add': ['Café'] },
};

const OPPOSITE: [from: RegExp, to: string][] = [
  [/^add/, 'remove'],
  [/^remove/, 'add'],
];

/** Returns the request that undoes a change. */
function reversed({ action, ...rest }: ActionRequest): object {
  const [from, to] = OPPOSITE.find(([pattern]) => pattern.test(action))!;
  return { action: action.replace(from, to), ...rest };
}

function additions(form: Form, page: keyof typeof ADDED): Command[] {
  return Object.entries(ADDED[page]).flatMap(([id, texts]) => {
    const row = rowsOf(form).find(each => each.id === id);
    assert.ok(row?.kind === 'entry', id);
    return texts.map(text => {
      assert.equal(row.check(text), null, text);
      return row.command(text);
    });
  });
}

function removals(form: Form): Command[] {
  const rows = rowsOf(form).flatMap(row => (row.kind === 'item' && row.remove ? [row.remove] : []));
  const { items = [], removal } = form.list ?? {};
  return [...rows, ...items.filter(({ removable }) => removable).map(item => removal!(item).command)];
}

for (const page of Object.keys(ADDED) as (keyof typeof ADDED)[])
  test(`each addition to and removal from the lists of ${page} can be undone, and says so`, () => {
    const form = opened(FORM_PAGES[page].open, client(STATE)).form();
    const commands = [...additions(form, page), ...removals(form)];
    assert.ok(removals(form).length > 0);
    for (const { ask, undo, done } of commands) {
      assert.ok(ask.kind === 'action', ask.kind);
      assert.deepEqual(undo, { kind: 'action', request: reversed(ask.request) }, ask.request.action);
      assert.ok(done, ask.request.action);
    }
  });

test('work that ends with a text, such as why it was refused, offers no undo', async () => {
  const toasts: unknown[] = [];
  const host = { toast: (text: string, undo?: () => void) => toasts.push([text, undo !== undefined]) };
  const undo = { kind: 'work', work: async () => {} } as const;
  for (const said of ['Refused', null])
    await runCommand(host as never, { ask: { kind: 'work', work: async () => said }, undo, done: 'Done' });
  assert.deepEqual(toasts, [
    ['Refused', false],
    ['Done', true],
  ]);
});
