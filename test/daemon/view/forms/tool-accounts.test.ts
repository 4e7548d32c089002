// The page of tool accounts as words, and what its controls ask for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ToolAccountsChange as Change,
  type Tool,
  type ToolAccounts,
  type ToolAccountsChange,
} from '../../../../daemon/api/accounts.ts';
import { ApiError } from '../../../../daemon/api/client.ts';
import type { Command, Row } from '../../../../daemon/view/form.ts';
import { formatIn } from '../../../../daemon/view/format.ts';
import { toolAccountsForm } from '../../../../daemon/view/forms/tool-accounts.ts';
import { changeToolAccounts } from '../../../../daemon/view/pages/run-command.ts';
import { problem } from '../../../support/gnome/daemon.ts';
import { richTool, tool, toolAccount } from '../../../support/gnome/initial.ts';
import { tr } from '../../../support/gnome/view/translator.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const later = (seconds: number) => new Date(now + seconds * 1000).toISOString();
const english = { ...tr, locale: 'en' };
const answer = (...tools: Tool[]): ToolAccounts => ({ ok: true, tools, refreshing: false, problem: null });
const formOf = (...tools: Tool[]) =>
  toolAccountsForm({ answer: answer(...tools), failed: null }, { offline: false, now }, english);
const rowsOf = (...tools: Tool[]): Row[] => formOf(...tools).groups.flatMap(({ rows }) => rows);
const row = <K extends Row['kind']>(kind: K, id: string, ...tools: Tool[]) => {
  const match = rowsOf(...tools).find(each => each.id === id);
  assert.equal(match?.kind, kind, id);
  return match as Extract<Row, { kind: K }>;
};
const asked = ({ ask }: Command): ToolAccountsChange => {
  assert.equal(ask.kind, 'tool-accounts');
  return (ask as Extract<typeof ask, { kind: 'tool-accounts' }>).change;
};

test('shows per account what is left, pause, forecast, renewal and shared quota', () => {
  const subtitles = rowsOf(richTool(now)).flatMap(({ id, subtitle }) => (id.startsWith('account-') ? [subtitle] : []));
  assert.deepEqual(subtitles, [
    '850 of 1000 left · Lasts about 3 hours · Renews in 3 days',
    '0 of 1000 left · Quota used up, used again in 12 minutes',
    '800 of 1000 left · Same quota as team-d',
    'Key refused, not used until its key changes',
  ]);
  assert.equal(row('fact', 'total-firecrawl', richTool(now)).value, '1650 of 3000 left');
  assert.match(row('note', 'run-firecrawl-0', richTool(now)).subtitle!, / · team-a · Succeeded$/);
  assert.match(
    row('note', 'run-firecrawl-1', richTool(now)).subtitle!,
    / · team-b · Changed to another account \(quota\)$/,
  );
});

test('shows for each program at the gateway its requests, the last account, and refusals', () => {
  const counts = { requests: 0, accounts: {}, refused: 0, used: 0 };
  const idle = { name: 'idle', ends: null, ...counts, budget: null, last: null, account: null };
  const over = { ...idle, name: 'over', ends: later(-1), requests: 1, used: 2 };
  const [rich] = richTool(now).consumers;
  const form = formOf(tool('x', { accounts: [toolAccount('a')], consumers: [idle, rich!, over], turnedAway: 2 }));
  const { title, rows } = form.groups.find(({ id }) => id === 'consumers-x')!;
  assert.equal(title, 'Programs that use x through the gateway');
  assert.deepEqual(
    rows.map(each => [each.title, each.tone, each.subtitle?.replace(/(team-a”), [^·]+ ·/, '$1, DATE ·')]),
    [
      ['idle', 'neutral', '0 requests'],
      [
        'research-agent',
        'warning',
        '1280 requests · Last by “team-a”, DATE · team-a 800, team-b 480 · 3 refused · 500 of its budget of 500 used · Ends in 3 days',
      ],
      ['over', 'neutral', '1 request · Its token has ended'],
      ['Turned away', 'warning', '2 requests without a valid placeholder, from web pages or from other users'],
    ],
  );
  assert.deepEqual(
    formOf(tool('x', { accounts: [toolAccount('a')] })).groups.find(({ id }) => id === 'consumers-x')?.rows,
    [],
  );
});

test('a pause that has ended, and what is past, is not shown', () => {
  const past = toolAccount('a', {
    paused: { class: 'rate', until: later(-1) },
    emptyAt: later(-1),
    resets: later(-1),
    remaining: 5,
  });
  const rows = rowsOf(tool('x', { accounts: [past] }));
  assert.equal(rows.find(({ id }) => id === 'account-x-a')?.subtitle, '5 left');
  assert.equal(
    rows.some(({ id }) => id.startsWith('wake-')),
    false,
  );
  const unknown = rowsOf(tool('x', { accounts: [toolAccount('a', { resets: 'soon', sources: ['env', 'file'] })] }));
  assert.equal(unknown.find(({ id }) => id === 'account-x-a')?.subtitle, 'Key in a variable, Key in a file');
});

test('each scope and each kind of terms has its own sentence', () => {
  const describe = (more: Partial<Tool>) =>
    formOf(tool('x', { accounts: [toolAccount('a')], ...more })).groups.find(({ id }) => id === 'tool-x')!.description;
  const scopes = (['key', 'project', 'team', 'ip'] as const).map(scope => describe({ scope }));
  assert.equal(new Set(scopes).size, 4);
  assert.match(scopes[3]!, /another account does not help/);
  const terms = (['allowed', 'per-team', 'one-per-person'] as const).map(accounts =>
    describe({ terms: { accounts, note: null, url: null, read: '2026-11-22' } }),
  );
  assert.equal(new Set(terms).size, 3);
  // Terms that were not read are not said to allow anything.
  const unread = (['allowed', 'per-team', 'one-per-person'] as const).map(accounts =>
    describe({ terms: { accounts, note: null, url: null, read: null } }),
  );
  assert.match(unread[0]!, /Check whether the provider’s terms allow several accounts\.$/);
  assert.deepEqual(unread.slice(1), [unread[0], terms[2]]);
});

test('the controls ask for what they say, and the daemon takes it', () => {
  const tools = [richTool(now), tool('netlify')];
  const commands: [string, Command, ToolAccountsChange][] = [
    ['refresh', row('button', 'refresh', ...tools).command, { change: 'refresh' }],
    ['shim', row('switch', 'shim-firecrawl', ...tools).command, { change: 'uninstall', cli: 'firecrawl' }],
    ['set up', row('button', 'set-up-netlify', ...tools).command, { change: 'install', cli: 'netlify' }],
    [
      'first',
      row('select', 'first-firecrawl', ...tools).command('team-c'),
      { change: 'use', cli: 'firecrawl', name: 'team-c' },
    ],
    [
      'off',
      row('switch', 'account-firecrawl-team-a', ...tools).command,
      { change: 'disable', cli: 'firecrawl', name: 'team-a' },
    ],
    [
      'on',
      row('switch', 'account-firecrawl-team-d', ...tools).command,
      { change: 'enable', cli: 'firecrawl', name: 'team-d' },
    ],
    [
      'wake',
      row('button', 'wake-firecrawl-team-b', ...tools).command,
      { change: 'wake', cli: 'firecrawl', name: 'team-b' },
    ],
    [
      'remove',
      row('button', 'remove-firecrawl-team-d', ...tools).command,
      { change: 'remove', cli: 'firecrawl', name: 'team-d' },
    ],
  ];
  for (const [what, command, change] of commands) {
    assert.deepEqual(asked(command), change, what);
    assert.ok(Change.safeParse(change).success, what);
  }
  const questions = ['set up', 'remove'].map(name => commands.find(([what]) => what === name)![1].confirm);
  assert.ok(
    questions.every(question => question?.heading),
    'what replaces or deletes something is asked first',
  );
});

test('an account is added by a name that fits, and its key is asked for', () => {
  const entry = row('entry', 'add-firecrawl', richTool(now));
  assert.deepEqual(
    ['', 'team-e', 'a b', '-x', '..', 'team-a'].map(name => entry.check(name) === null),
    [true, true, false, false, false, false],
  );
  const { confirm } = entry.command('team-e');
  assert.deepEqual(confirm?.secrets, ['FIRECRAWL_KEY']);
});

test('a shim that an upgrade replaced is off, and can be put back', () => {
  const replaced = tool('x', { shim: 'replaced', accounts: [toolAccount('a')] });
  const shim = row('switch', 'shim-x', replaced);
  assert.deepEqual([shim.on, shim.tone, asked(shim.command).change], [false, 'warning', 'install']);
  assert.equal(row('switch', 'shim-x', { ...replaced, shim: 'none', path: null }).sensitive, false);
});

test('says why there is nothing to show', () => {
  const title = (state: Parameters<typeof toolAccountsForm>[0], offline = false) =>
    toolAccountsForm(state, { offline, now }, english).groups[0]!.rows[0]!.title;
  assert.deepEqual(
    [
      title({ answer: null, failed: null }, true),
      title({ answer: null, failed: null }),
      title({ answer: null, failed: 'x' }),
      title({ answer: answer(), failed: null }),
      title({ answer: { ...answer(), problem: 'broken' }, failed: null }),
    ],
    ['Not available now', 'Reading…', 'Accounts can’t be shown', 'No known tool was found', 'Accounts can’t be shown'],
  );
});

test('a key that no keyring takes goes into a file only if the user agrees', async () => {
  const add: ToolAccountsChange = { change: 'add', cli: 'x', name: 'a', credentials: [], store: 'keyring' };
  const refusal = (reason: string) => new ApiError(problem('wrapper-refused', 409, 'No.', { reason }));
  const attempt = async (agreed: boolean, reason = 'keyring-unavailable') => {
    const posted: ToolAccountsChange[] = [];
    const call = async (_line: string, { body }: { body: ToolAccountsChange }) => {
      posted.push(body);
      if ('store' in body && body.store === 'keyring') throw refusal(reason);
    };
    const host = { model: { call: call as never }, answer: async () => (agreed ? [] : null), tr: () => tr };
    const done = await changeToolAccounts(host, add, ['k']).catch(error => error);
    return [done, posted.map(body => 'store' in body && `${body.store} ${body.credentials}`)];
  };
  assert.deepEqual(await attempt(true), [true, ['keyring k', 'file k']]);
  assert.deepEqual(await attempt(false), [false, ['keyring k']]);
  const [error, posted] = await attempt(true, 'account-exists');
  assert.deepEqual([error instanceof ApiError, posted], [true, ['keyring k']]);
});

test('times ahead are rough, in the language’s words', () => {
  const at = (seconds: number, locale = 'en') => formatIn(seconds, { ...tr, locale });
  assert.deepEqual(
    [at(0), at(89), at(90), at(5399), at(5400), at(36 * 3600 - 1), at(36 * 3600), at(600, 'de')],
    [
      'in 1 second',
      'in 89 seconds',
      'in 2 minutes',
      'in 90 minutes',
      'in 2 hours',
      'in 36 hours',
      'in 2 days',
      'in 10 Minuten',
    ],
  );
});

test('npm, which most people have for other work, is shown only once it is set up', () => {
  const titles = (...tools: Tool[]) => rowsOf(...tools).map(({ title }) => title);
  assert.deepEqual(titles(tool('npm'), tool('netlify')), ['netlify']);
  assert.deepEqual(titles(tool('npm')), ['No known tool was found']);
  assert.ok(formOf(tool('npm', { shim: 'installed' })).groups.some(({ title }) => title === 'npm'));
});
