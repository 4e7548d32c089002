// The list of settings, and the settings of Culvert itself.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Snapshot } from '../../../../daemon/api/schema.ts';
import { preferencesForm, UNKNOWN_DESKTOP } from '../../../../daemon/view/forms/preferences.ts';
import { navigationGroups, overviewForm, settingsForm } from '../../../../daemon/view/forms/settings.ts';
import { placeOf } from '../../../../daemon/view/page-list.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { clientState, rich, tr } from '../../../support/gnome/view/translator.ts';

/** A client whose tunnel is off, with further parts of the snapshot. */
function withPart(parts: Partial<Snapshot>) {
  const client = clientState({ status: { state: 'disconnected' } });
  return { ...client, snapshot: { ...client.snapshot!, ...parts } };
}

test('the name of a page leads there, and the name of a former page leads to its successor', () => {
  assert.deepEqual(placeOf('dns'), { page: 'dns', row: null });
  assert.deepEqual(placeOf('graph'), { page: 'history', row: 'now' });
  for (const name of ['', 'nowhere', 'constructor', '__proto__']) assert.equal(placeOf(name), null);
});

test('no page stands twice in the list of settings, and none of its entries in the main menu', () => {
  const values = { mode: '', killSwitch: '', routes: null, account: null, tools: true, certificate: true };
  const rows = settingsForm(values, tr).groups.flatMap(group => group.rows);
  const pages = rows.map(row => (row.kind === 'link' ? row.page : null));
  assert.equal(new Set(pages).size, pages.length);
  const header = readFileSync(new URL('../../../../gnome/panel/window/header.ts', import.meta.url), 'utf8');
  for (const page of pages) assert.ok(!header.includes(`win.page::${page}`), String(page));
  const own = preferencesForm(rich(), UNKNOWN_DESKTOP, tr).groups.flatMap(group => group.rows);
  assert.deepEqual(
    own.filter(row => row.kind === 'link'),
    [],
  );
});

test('tool accounts are offered only where they are of use', () => {
  const listed = (offered: boolean) => {
    const client = withPart({ toolAccounts: { offered } });
    const rows = overviewForm(describe(client, '1.0.0', tr), tr).groups.flatMap(group => group.rows);
    return [
      rows.some(row => row.kind === 'link' && row.page === 'tools'),
      navigationGroups(client, tr).some(({ pages }) => pages.includes('tools')),
    ];
  };
  assert.deepEqual(listed(true), [true, true]);
  assert.deepEqual(listed(false), [false, false]);
});

test('the page of the certificate is offered only where an organization has one', () => {
  for (const offered of [true, false]) {
    const client = withPart({ trust: { offered, removalDue: false } });
    const pages = navigationGroups(client, tr).flatMap(group => group.pages);
    assert.equal(pages.includes('certificate'), offered);
  }
});

test('preferences change one key each, and what the environment decides can’t be changed', () => {
  const client = clientState();
  const row = (id: string) =>
    preferencesForm(client, UNKNOWN_DESKTOP, tr)
      .groups.flatMap(({ rows }) => rows)
      .find(row => row.id === id)!;
  const theme = row('ui.theme');
  assert.ok(theme.kind === 'select');
  assert.deepEqual(theme.command('dark').ask, { kind: 'config', patch: { ui: { theme: 'dark' } } });
  const language = row('ui.locale');
  assert.ok(language.kind === 'select');
  assert.equal(language.value, '', 'the default is the desktop’s language');
  assert.deepEqual(language.command('').ask, { kind: 'config', patch: { ui: { locale: null } } });
  client.config!.sources['ui.theme'] = 'environment';
  assert.equal(row('ui.theme').sensitive, false);
});

test('names of accounts can be hidden while metrics are shown', () => {
  const client = clientState();
  const rows = () =>
    preferencesForm(client, UNKNOWN_DESKTOP, tr)
      .groups.find(({ id }) => id === 'metrics')!
      .rows.map(row => [row.id, row.kind === 'switch' && row.on, row.kind === 'switch' && row.command.ask]);
  const patch = (key: string) => ({ kind: 'config', patch: { metrics: { [key]: true } } });
  assert.deepEqual(rows(), [['metrics.enabled', false, patch('enabled')]]);
  client.config!.config.metrics.enabled = true;
  assert.deepEqual(rows()[1], ['metrics.hashAccounts', false, patch('hashAccounts')]);
});

test('the start at login is shown as the desktop has it, and hidden only where there is a tray', () => {
  const client = clientState();
  const rows = (tray: boolean | null, autostart: boolean | null) =>
    preferencesForm(client, { tray, autostart, shortcuts: null }, tr).groups[0]!.rows.map(row => [
      row.id,
      row.kind === 'switch' && row.on,
      row.kind === 'switch' && row.command.ask,
    ]);
  const patch = (key: string, value: boolean) => ({ kind: 'config', patch: { tray: { [key]: value } } });
  assert.deepEqual(rows(true, null), [['tray.autostart', false, patch('autostart', true)]]);
  client.config!.config.tray.autostart = true;
  assert.deepEqual(rows(false, null), [['tray.autostart', true, patch('autostart', false)]]);
  assert.deepEqual(rows(true, false), [['tray.autostart', false, patch('autostart', true)]], 'the entry is gone');
  assert.deepEqual(rows(true, true), [
    ['tray.autostart', true, patch('autostart', false)],
    ['tray.startHidden', true, patch('startHidden', false)],
  ]);
});
