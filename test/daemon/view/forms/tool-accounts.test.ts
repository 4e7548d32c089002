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
import { changeToolAccounts, runCommand } from '../../../../daemon/view/pages/run-command.ts';
import { problem } from '../../../support/gnome/daemon.ts';
import { richTool, tool, toolAccount } from '../../../support/gnome/initial.ts';
import { tr } from '../../../support/gnome/view/translator.ts';

const now = Date.parse('2026-11-22T12:00:00Z');
const later = (seconds: number) => new Date(now + seconds * 1000).toISOString();
const english = { ...tr, locale: 'en' };
const answer = (...tools: Tool[]): ToolAccounts => ({ ok: true, tools, refreshing: false, problem: null });
const formOf = (...tools: Tool[]) =>
  toolAccountsForm({ answer: answer(...tools), failed: null }, { offline: false, now }, english);
const unfold = (row: Row): Row[] => (row.kind === 'expander' ? [row, ...row.rows] : [row]);
const rowsOf = (...tools: Tool[]): Row[] => formOf(...tools).groups.flatMap(({ rows }) => rows.flatMap(unfold));
const anyRow = (id: string, ...tools: Tool[]) => rowsOf(...tools).find(each => each.id === id)!;
const groupOf = (tool: Tool) => formOf(tool).groups.find(({ id }) => id === `tool-${tool.cli}`)!;
const menuOf = (id: string, ...tools: Tool[]) =>
  Object.fromEntries((anyRow(id, ...tools).menu ?? []).map(button => [button.label, button]));
const row = <K extends Row['kind']>(kind: K, id: string, ...tools: Tool[]) => {
  const match = rowsOf(...tools).find(each => each.id === id);
  assert.equal(match?.kind, kind, id);
  return match as Extract<Row, { kind: K }>;
};
const asked = ({ ask }: Command): ToolAccountsChange => {
  assert.equal(ask.kind, 'tool-accounts');
  return (ask as Extract<typeof ask, { kind: 'tool-accounts' }>).change;
};

test('shows per account its state, what is left, forecast, renewal and shared quota', () => {
  const rows = rowsOf(richTool(now)).filter(({ id }) => id.startsWith('account-'));
  assert.deepEqual(
    rows.map(({ title, mark, level, tone, subtitle }) => [title, mark, level, tone, subtitle]),
    [
      ['team-a', 'active', 0.85, 'neutral', 'In use · 850 of 1000 left · Lasts about 3 hours · Renews in 3 days'],
      ['team-b', 'waiting', 0, 'warning', 'Empty, back in 12 minutes'],
      ['team-c', 'fine', 0.8, 'neutral', '800 of 1000 left · Shares with team-d'],
      ['team-d', 'problem', null, 'error', 'Turned off · Key refused'],
    ],
  );
  const all = row('switch', 'shim-firecrawl', richTool(now));
  assert.deepEqual(
    [all.title, all.level, all.subtitle],
    ['1650 of 3000 left', 0.55, 'Lasts about 6 hours · Use these accounts for “firecrawl”'],
  );
  assert.match(row('note', 'run-firecrawl-0', richTool(now)).subtitle!, / · team-a · Succeeded$/);
  assert.match(
    row('note', 'run-firecrawl-1', richTool(now)).subtitle!,
    / · team-b · Changed to another account \(quota\)$/,
  );
});

const old = { at: later(-7200), resets: later(-3600) };

test('shows unknown credits as unknown, never as 0', () => {
  const one = tool('x', { next: 'a', accounts: [toolAccount('a')] });
  const account = anyRow('account-x-a', one);
  assert.deepEqual([account.level, account.subtitle], [null, 'In use · Credits unknown · Key in the keyring']);
  assert.match(
    anyRow('account-x-a', { ...one, next: null }).subtitle!,
    /^Credits unknown/,
    'the daemon says what is next',
  );
  const shim = row('switch', 'shim-x', one);
  assert.deepEqual(
    [shim.title, shim.level, shim.subtitle],
    ['Use these accounts for “x”', null, `Credits unknown · ${one.path}`],
  );
  const partly = tool('x', {
    accounts: [toolAccount('a', { remaining: 5 }), toolAccount('b')],
    total: { remaining: 5, limit: null, used: null },
  });
  const { title, level, subtitle } = row('switch', 'shim-x', partly);
  assert.deepEqual([title, level, subtitle], ['5 left', null, '1 account unknown · Use these accounts for “x”']);
  const unlimited = [toolAccount('a', { remaining: 5 }), toolAccount('b', { remaining: 1, limit: 2 })];
  const sum = { remaining: 6, limit: 2, used: null };
  const cases = [
    unlimited,
    [toolAccount('a', { remaining: 6, limit: 9 }), toolAccount('b', { limit: 2 })],
    [toolAccount('a', { remaining: 6, limit: 9 }), toolAccount('b', { remaining: 1, limit: 2, ...old })],
  ];
  for (const accounts of cases) {
    const part = row('switch', 'shim-x', tool('x', { accounts, total: sum }));
    assert.deepEqual([part.title, part.level], ['6 left', null], 'the whole of only a part of the sum is not shown');
  }
});

test('a figure from before a reset is unknown', () => {
  const account = toolAccount('a', { remaining: 0, limit: 9, ...old });
  const { mark, level, subtitle } = anyRow('account-x-a', tool('x', { next: 'a', accounts: [account] }));
  assert.deepEqual([mark, level, subtitle], ['active', null, 'In use · Credits unknown · Key in the keyring']);
});

test('says what an account waits for, and that a key was refused', () => {
  const subtitle = (more: Parameters<typeof toolAccount>[1], id = 'account-x-a') =>
    anyRow(id, tool('x', { accounts: [toolAccount('a', { stored: !more?.sources, ...more })] })).subtitle;
  const paused = (kind: 'quota' | 'rate' | 'auth', until: string | null) => ({ paused: { class: kind, until } });
  const cases: [Parameters<typeof toolAccount>[1], string][] = [
    [{ remaining: 0, limit: 9, resets: later(3600 * 72) }, 'Empty · Renews in 3 days'],
    [{ remaining: 3, limit: 9, ...paused('quota', later(720)) }, 'Not enough left, back in 12 minutes · 3 of 9 left'],
    [{ ...paused('rate', later(720)) }, 'Too many requests, back in 12 minutes'],
    [{ ...paused('auth', later(720)) }, 'Key refused, back in 12 minutes'],
    [{ ...paused('auth', null), sources: ['env'] }, 'Key refused · Key in a variable'],
    [{ remaining: 3, problem: 'no route' }, '3 left · no route'],
  ];
  for (const [more, text] of cases) assert.equal(subtitle(more), text);
});

test('shows for each program at the gateway its requests, the last account, and refusals', () => {
  const counts = { requests: 0, accounts: {}, refused: 0, used: 0 };
  const idle = { name: 'idle', ends: null, ...counts, budget: null, last: null, account: null };
  const over = { ...idle, name: 'over', ends: later(-1), requests: 1, used: 2 };
  const [rich] = richTool(now).consumers;
  const form = formOf(tool('x', { accounts: [toolAccount('a')], consumers: [idle, rich!, over], turnedAway: 2 }));
  const programs = form.groups.flatMap(({ rows }) => rows).find(({ id }) => id === 'consumers-x');
  assert.ok(programs?.kind === 'expander');
  const { title, rows, tone, mark } = programs;
  assert.equal(title, 'Programs that use x through the gateway');
  assert.deepEqual([tone, mark], ['warning', 'hint'], 'folded rows that warn are not hidden');
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
  const quiet = rowsOf(tool('x', { accounts: [toolAccount('a')] })).map(({ id }) => id);
  assert.deepEqual(
    quiet,
    ['shim-x', 'account-x-a', 'add-x', 'refresh'],
    'without programs and runs there is nothing to unfold',
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
  assert.equal('Use Now' in menuOf('account-x-a', tool('x', { accounts: [past] })), false);
  const unknown = rowsOf(tool('x', { accounts: [toolAccount('a', { resets: 'soon', sources: ['env', 'file'] })] }));
  assert.equal(
    unknown.find(({ id }) => id === 'account-x-a')?.subtitle,
    'Credits unknown · Key in a variable, Key in a file',
  );
});

test('the question for a new account says who shares a quota, and what the terms allow', () => {
  const describe = (more: Partial<Tool>) =>
    row('button', 'add-x', tool('x', { accounts: [toolAccount('a')], ...more })).command.confirm!.body;
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
  assert.match(unread[0]!, /Check whether the provider’s terms allow several accounts\. /);
  assert.deepEqual(unread.slice(1), [unread[0], terms[2]]);
});

test('a card has a sentence only where the order of the rows does not decide', () => {
  const two = [toolAccount('a', { default: true }), toolAccount('b')];
  const describe = (more: Partial<Tool>) => groupOf(tool('x', { accounts: two, ...more })).description;
  assert.equal(describe({}), undefined);
  assert.match(describe({ scope: 'ip' })!, /another account does not help/);
  const terms = { accounts: 'one-per-person', note: null, url: null, read: null } as const;
  assert.match(describe({ terms, order: 'default' })!, /^The provider’s terms allow one account per person/);
  const orders = ['default', 'most-remaining', 'soonest-reset', 'drain-first', 'round-robin'] as const;
  const sentences = orders.map(order => describe({ order }));
  assert.equal(new Set(sentences).size, orders.length);
  assert.equal(sentences.includes(undefined), false);
  for (const order of orders) {
    const other = tool('x', { accounts: two, order });
    assert.equal(groupOf(other).order, undefined, order);
    assert.equal('Move Up' in menuOf('account-x-a', other), false, order);
    assert.equal('Use This Account' in menuOf('account-x-b', other), order === 'default', order);
  }
});

test('accounts are in their order of use, which the user changes', () => {
  const names = ['a', 'b', 'off', 'c'];
  const accounts = names.map(name => toolAccount(name, { enabled: name !== 'off', default: name === 'c' }));
  const x = tool('x', { next: 'c', accounts });
  const order = groupOf(x).order!;
  assert.deepEqual(
    order.ids,
    ['off', 'c', 'a', 'b'].map(name => `account-x-${name}`),
  );
  assert.equal(anyRow('account-x-c', x).mark, 'active');
  const moved = (name: string, to: number) => {
    const change = asked(order.move(`account-x-${name}`, to));
    assert.ok(Change.safeParse(change).success);
    return change.change === 'order' ? change.names.join(' ') : '';
  };
  assert.deepEqual(
    [moved('b', 0), moved('off', 3), moved('c', 2), moved('a', 2)],
    ['b off c a', 'c a b off', 'off a c b', 'off c a b'],
  );
  const menu = menuOf('account-x-off', x);
  assert.deepEqual([menu['Move Up']?.sensitive, menu['Move Down']?.sensitive], [false, true]);
  assert.deepEqual(asked(menu['Move Down']!.command), asked(order.move('account-x-off', 1)));
  assert.equal(menu['Use First']?.sensitive, false, 'an account that is off is not used');
  assert.deepEqual(asked(menuOf('account-x-b', x)['Use First']!.command), {
    change: 'order',
    cli: 'x',
    names: ['b', 'off', 'c', 'a'],
  });
});

test('from 8 accounts on, empty accounts are folded and keep their places', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const accounts = names.map((name, i) => toolAccount(name, { default: i === 0, remaining: i % 2, limit: 1 }));
  const few = tool('x', { accounts: accounts.slice(1) });
  assert.equal(
    rowsOf(few).some(({ id }) => id === 'empty-x'),
    false,
  );
  const many = tool('x', { next: 'b', accounts });
  const folded = row('expander', 'empty-x', many);
  assert.deepEqual([folded.title, folded.rows.map(({ title }) => title).join('')], ['4 more are empty', 'aceg']);
  const order = groupOf(many).order!;
  assert.equal(order.ids.join(), 'account-x-b,account-x-d,account-x-f,account-x-h');
  const change = asked(order.move('account-x-h', 1));
  assert.equal(change.change === 'order' && change.names.join(''), 'abchdefg');
  assert.equal('Move Up' in menuOf('account-x-a', many), false);
  assert.equal(anyRow('account-x-b', many).mark, 'active');
});

test('the controls ask for what they say, and the daemon takes it', () => {
  const tools = [richTool(now), tool('netlify')];
  const at = (name: string) => ({ cli: 'firecrawl', name });
  const menu = (name: string) => menuOf(`account-firecrawl-${name}`, ...tools);
  const commands: [string, Command, ToolAccountsChange][] = [
    ['refresh', row('button', 'refresh', ...tools).command, { change: 'refresh' }],
    ['shim', row('switch', 'shim-firecrawl', ...tools).command, { change: 'uninstall', cli: 'firecrawl' }],
    ['set up', row('button', 'set-up-netlify', ...tools).command, { change: 'install', cli: 'netlify' }],
    ['off', menu('team-a')['Turn Off']!.command, { change: 'disable', ...at('team-a') }],
    ['on', menu('team-d')['Turn On']!.command, { change: 'enable', ...at('team-d') }],
    ['wake', row('button', 'account-firecrawl-team-b', ...tools).command, { change: 'wake', ...at('team-b') }],
    [
      'key',
      row('button', 'account-firecrawl-team-d', ...tools).command,
      { change: 'add', ...at('team-d'), credentials: [], store: 'keyring', replace: true },
    ],
    ['remove', menu('team-d')['Remove…']!.command, { change: 'remove', ...at('team-d') }],
  ];
  for (const [what, command, change] of commands) {
    assert.deepEqual(asked(command), change, what);
    assert.ok(Change.safeParse(change).success, what);
  }
  const questions = ['set up', 'remove', 'key'].map(name => commands.find(([what]) => what === name)![1].confirm);
  assert.ok(
    questions.every(question => question?.heading),
    'what replaces or deletes something is asked first',
  );
  assert.deepEqual(questions[2]?.secrets, ['FIRECRAWL_KEY']);
  assert.equal(row('button', 'account-firecrawl-team-b', ...tools).label, 'Use Now');
  assert.equal('Use Now' in menu('team-b'), false, 'the button of a row is not in its menu');
  assert.deepEqual(groupOf(richTool(now)).menu![0]!.command.ask, {
    kind: 'open',
    uri: 'https://firecrawl.example/terms',
  });
});

test('a refused key is replaced with one press, if Culvert stores it', () => {
  const refused = (sources: ('keyring' | 'file' | 'env')[], stored = true, enabled = true) => {
    const account = toolAccount('a', { enabled, paused: { class: 'auth', until: null }, sources, stored });
    return anyRow('account-x-a', tool('x', { accounts: [account] }));
  };
  const stored = refused(['file']);
  for (const each of [stored, refused(['file'], true, false)])
    assert.deepEqual(
      [each.kind === 'button' && each.label, each.mark, each.tone],
      ['New Key…', 'problem', 'error'],
      'an account that is turned off as well',
    );
  assert.ok(stored.kind === 'button');
  const change = asked(stored.command);
  assert.equal(change.change === 'add' && change.store, 'file');
  assert.ok(stored.menu!.some(({ label }) => label === 'Use Now'));
  // a file of the user's own has the key
  for (const source of ['env', 'file'] as const) {
    const elsewhere = refused([source], false);
    assert.ok(elsewhere.kind === 'button' && elsewhere.label === 'Use Now');
    assert.equal(
      elsewhere.menu!.some(({ label }) => label === 'New Key…'),
      false,
    );
  }
});

test('one row asks all providers, and says when they were asked, and while they are asked', () => {
  const known = tool('x', { accounts: [toolAccount('a', { at: later(-300) }), toolAccount('b')] });
  const other = tool('y', { accounts: [toolAccount('c')] });
  const how = 'Asks each provider, with the account’s own key.';
  const refresh = row('button', 'refresh', known, other);
  assert.deepEqual(
    [refresh.title, refresh.subtitle, refresh.busy],
    ['Refresh the credits of all tools', `${how} Last asked 5 minutes ago.`, false],
  );
  assert.deepEqual(asked(refresh.command), { change: 'refresh' });
  assert.equal(rowsOf(known, other).filter(({ id }) => id === 'refresh').length, 1);
  assert.equal(row('button', 'refresh', other).subtitle, how);
  const state = { answer: { ...answer(known), refreshing: true }, failed: null };
  const busy = toolAccountsForm(state, { offline: false, now }, english).groups.flatMap(({ rows }) => rows);
  assert.ok(busy.some(each => each.kind === 'button' && each.id === 'refresh' && each.busy));
  assert.equal(
    rowsOf(tool('x', { shim: 'installed' })).find(({ id }) => id === 'refresh'),
    undefined,
  );
});

test('an account is added by one question, for a name that fits and the key', () => {
  const { ask, confirm: name } = row('button', 'add-firecrawl', richTool(now)).command;
  assert.deepEqual(
    ['', 'team-e', 'a b', '-x', '..', 'team-a'].map(text => name!.field!.check(text) === null),
    [true, true, false, false, false, false],
  );
  assert.deepEqual(
    name!.links?.map(({ uri }) => uri),
    ['https://firecrawl.example/terms'],
  );
  const terms = { accounts: 'allowed', note: null, url: 'https://x.example/terms', read: null } as const;
  const [first] = row('button', 'add-x', tool('x', { shim: 'installed', terms })).command.confirm!.links!;
  assert.equal(first?.uri, terms.url, 'also before the first account');
  assert.ok(ask.kind === 'answer');
  const add = ask.command('team-e');
  assert.deepEqual([name!.secrets, add.confirm], [['FIRECRAWL_KEY'], undefined]);
  assert.equal(asked(add).change, 'add');
  assert.deepEqual(add.undo, {
    kind: 'tool-accounts',
    change: { change: 'remove', cli: 'firecrawl', name: 'team-e' },
  });
});

test('a shim that an upgrade replaced is off, and can be put back', () => {
  const replaced = tool('x', { shim: 'replaced', accounts: [toolAccount('a')] });
  const shim = row('switch', 'shim-x', replaced);
  assert.deepEqual([shim.on, shim.tone, asked(shim.command).change], [false, 'warning', 'install']);
  assert.equal(row('switch', 'shim-x', { ...replaced, shim: 'none', path: null }).sensitive, false);
});

test('says why there is nothing to show', () => {
  const title = (state: Parameters<typeof toolAccountsForm>[0], offline = false) => {
    const { status, groups } = toolAccountsForm(state, { offline, now }, english);
    return status?.title ?? groups[0]!.rows[0]!.title;
  };
  assert.deepEqual(
    [
      title({ answer: null, failed: null }, true),
      title({ answer: null, failed: null }),
      title({ answer: null, failed: 'x' }),
      title({ answer: answer(), failed: null }),
      title({ answer: { ...answer(), problem: 'broken' }, failed: null }),
    ],
    [
      'Not available now',
      'Reading…',
      'Accounts can’t be shown',
      'No command-line tool with accounts found',
      'Accounts can’t be shown',
    ],
  );
  const [how] = formOf().status!.buttons;
  assert.ok(how?.command.ask.kind === 'copy' && how.command.confirm?.text === how.command.ask.text);
});

test('one account of several can be chosen where none is', () => {
  const lost = anyRow('account-x-b', tool('x', { order: 'default', accounts: [toolAccount('a'), toolAccount('b')] }));
  assert.ok(lost.kind === 'button' && lost.label === 'Use This Account');
  assert.deepEqual(asked(lost.command), { change: 'use', cli: 'x', name: 'b' });
});

test('the answer to a question leads to the next command', async () => {
  const done: string[] = [];
  const host = {
    answer: async ({ heading }: { heading: string }) => [heading],
    toast: (text: string) => void done.push(text),
    copy: async (text: string) => {
      done.push(text);
      return true;
    },
    tr: () => tr,
  };
  const question = { heading: 'name', body: '', accept: '' };
  const command = (text: string): Command => ({ ask: { kind: 'copy', text }, done: 'copied' });
  assert.equal(await runCommand(host as never, { ask: { kind: 'answer', command }, confirm: question }), true);
  assert.deepEqual(done, ['name', 'copied']);
});

test('the key that is typed next to the name goes to the daemon with it', async () => {
  const posted: unknown[] = [];
  const call = async (_line: string, { body }: { body: unknown }) => void posted.push(body);
  const host = { answer: async () => ['team-e', 'key'], model: { call }, toast() {}, tr: () => tr };
  const { command } = row('button', 'add-firecrawl', richTool(now));
  assert.equal(await runCommand(host as never, command), true);
  assert.deepEqual(posted, [
    { change: 'add', cli: 'firecrawl', name: 'team-e', credentials: ['key'], store: 'keyring' },
  ]);
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
  assert.deepEqual(titles(tool('npm')), []);
  assert.equal(formOf(tool('npm')).status?.title, 'No command-line tool with accounts found');
  assert.ok(formOf(tool('npm', { shim: 'installed' })).groups.some(({ title }) => title === 'npm'));
});
