// Tests the settings search with words that people type.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SplitTunnel } from '../../../../daemon/api/schema.ts';
import { commandOfLink, type Form } from '../../../../daemon/view/form.ts';
import { rowKeywords } from '../../../../daemon/view/forms/search-match.ts';
import { NOTHING_GATHERED } from '../../../../daemon/view/forms/search-rows.ts';
import { type Hit, hitsForm, searchedPages, searchPages } from '../../../../daemon/view/pages/search.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { app, logEntry } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';
import { ASKED_WORDS } from './asked-words.ts';
import { FURTHER_WORDS } from './further-words.ts';
import { PLAIN_WORDS } from './plain-words.ts';
import { SEARCH_WORDS } from './search-words.ts';

const client = clientState({
  status: { state: 'connected' },
  killSwitch: { installed: true, enabled: true },
  options: { switchLocked: true, trustedSsids: ['Home'] },
});
const pages = searchedPages(describe(client, '1.0.0', tr), tr);
const find = (query: string): Hit[] => searchPages(pages, query, tr);
/** Number of hits that people see without scrolling. */
const SEEN = 5;

for (const [name, words] of Object.entries({ SEARCH_WORDS, FURTHER_WORDS, PLAIN_WORDS, ASKED_WORDS }))
  test(`at least 95% of the words in ${name} find their row among the first five hits`, () => {
    const missed = words.filter(([word, places]) => {
      const expected = places.split(' ');
      return !find(word)
        .slice(0, SEEN)
        .some(({ page, row }) => expected.includes(page) || expected.includes(`${page}/${row}`));
    });
    const share = 1 - missed.length / words.length;
    assert.ok(share >= 0.95, `${Math.round(100 * share)} of 100; missed: ${missed.map(([word]) => word).join(', ')}`);
    assert.ok(words.length >= 65);
  });

test('if no row has all the words, finds the rows with the rarest words, with or without their endings', () => {
  assert.equal(find('lockdown mode of mullvad')[0]!.page, 'killswitch');
  assert.equal(find('resolvers xyzzy')[0]!.page, 'dns');
});

test('finds rows on list pages, and on the pages of checks and updates', () => {
  const splitTunnel: SplitTunnel = {
    mode: 'exclude',
    ips: [{ value: '172.17.0.0/16', description: 'docker0' }],
    hosts: [],
  };
  const routed = { ...client, snapshot: { ...client.snapshot!, splitTunnel } };
  const log = [{ ...logEntry(1, 'warp-cli tunnel stats'), ok: false, exitCode: 3 }];
  const gathered = { ...NOTHING_GATHERED, apps: [app('firefox', 'Firefox')], log };
  const all = searchedPages(describe(routed, '1.0.0', tr), tr, gathered);
  const places: [query: string, place: string][] = [
    ['docker0', 'routes/=172.17.0.0/16'],
    ['firefox', 'apps/=Firefox'],
    ['tunnel stats', 'log/=warp-cli tunnel stats'],
    ['exit 3', 'log/=warp-cli tunnel stats'],
    ['timeline', 'history/timeline'],
    ['nothing leaves this computer', 'checks/null'],
    ['report a problem', 'checks/report'],
    ['installed version', 'updates/current'],
  ];
  for (const [query, place] of places) {
    const [first] = searchPages(all, query, tr);
    assert.equal(`${first?.page}/${first?.row}`, place, query);
  }
});

test('a hit for the keyboard shortcuts opens them', () => {
  for (const query of ['keyboard shortcuts', 'hotkey']) {
    const hits = find(query);
    assert.equal(hits[0]?.task, 'shortcuts', query);
    const [row] = hitsForm(hits, tr).groups[0]!.rows;
    assert.ok(row?.kind === 'link');
    assert.deepEqual(commandOfLink(row).ask, { kind: 'client', task: 'shortcuts' });
  }
});

test('hyphens, blanks, case and diacritics make no difference', () => {
  const first = (query: string) => find(query).map(({ page, row }) => `${page}/${row}`)[0];
  for (const same of [
    ['kill switch', 'Kill-Switch', 'KILLSWITCH', ' kill  switch '],
    ['Francais', 'français', 'FRANÇAIS'],
    ['wifi', 'Wi-Fi', 'wi fi'],
  ])
    assert.equal(new Set(same.map(first)).size, 1, same.map(first).join(', '));
});

test('the search finds rows by title, group, description and values, the best first', () => {
  assert.equal(find('malw')[0]!.row, 'families-malware');
  assert.ok(
    find('finds the best server').some(({ page }) => page === 'advanced'),
    'the description of a group',
  );
  assert.equal(find('Deutsch')[0]!.row, 'ui.locale', 'a value of a list');
  const page: Form = { groups: [{ id: 'a', rows: [{ kind: 'link', id: 'b', title: 'Past', page: 'history' }] }] };
  assert.equal(searchPages([['settings', 'Settings', page]], 'past', tr)[0]!.page, 'history', 'where a row leads to');
  for (const nothing of ['xyzzy', ' ', '-']) assert.deepEqual(find(nothing), []);
});

test('the search uses the translated keywords', () => {
  const german = { ...tr, _: (text: string) => (text.startsWith('Wi-Fi; WLAN') ? 'Funknetz; Drahtlosnetz' : text) };
  assert.equal(searchPages(pages, 'funknetz', german)[0]!.row, 'wifi');
});

test('each list of keywords belongs to a row', () => {
  const rows = pages.flatMap(([page, , { groups }]) =>
    groups.flatMap(group => group.rows.map(({ id }) => `${page}/${id}`)),
  );
  const optional = ['killswitch/boot', 'advanced/vnet', 'preferences/tray.startHidden'];
  const lost = Object.keys(rowKeywords(tr)).filter(name => !rows.includes(name) && !optional.includes(name));
  assert.deepEqual(lost, []);
});

test('a command in a menu leads to its row, and a command of a group to its button', () => {
  const command = { ask: { kind: 'proof' } } as const;
  const page: Form = {
    groups: [
      {
        id: 'a',
        actions: [{ icon: 'add', label: 'Invent', command }],
        rows: [
          { kind: 'note', id: 'first', title: 'First' },
          { kind: 'note', id: 'second', title: 'Second', menu: [{ label: 'Polish', command }] },
        ],
      },
    ],
  };
  const rowOf = (query: string) => searchPages([['networks', 'Networks', page]], query, tr).map(({ row }) => row);
  assert.deepEqual([rowOf('polish'), rowOf('invent')], [['second'], ['Invent']]);
});
