// The lines of status bars, against what each bar's documentation lets it read.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { STATES } from '../../../daemon/api/states.ts';
import { COMMANDS, resolved } from '../../../daemon/cli/command-line/program.ts';
import { BAR_FORMATS, type BarFormat, barLine, barStart } from '../../../daemon/view/bars.ts';
import { type ClientState, shownState } from '../../../daemon/view/client/client-state.ts';
import { stateOf } from '../../../daemon/view/states/summary.ts';
import { change, KILL_SWITCH } from '../../support/gnome/initial.ts';
import { clientState, tr } from '../../support/gnome/view/translator.ts';

const HOSTILE = 'a <b> & "c" %{A1:reboot:} %%{x}\nd\te\u001b[0m';
const line = (client: ClientState, format: BarFormat, inArray = true) => barLine(client, format, inArray, tr);
const connected = clientState({ status: { state: 'connected' } });
const blocked = clientState({ status: { state: 'disconnected' }, killSwitch: { ...KILL_SWITCH, active: true } });
const paused: ClientState = {
  ...connected,
  snapshot: {
    ...clientState({ status: { state: 'disconnected' } }).snapshot!,
    changes: [change('connection', { value: 'off', endsAt: '2030-01-01T00:00:00.000Z' })],
  },
};

test('each format has its line for a connected tunnel', () => {
  const lines = BAR_FORMATS.map(format => [format, line(connected, format)]);
  const { tooltip, ...waybar } = JSON.parse(line(connected, 'waybar'));
  assert.match(tooltip, /\.$/);
  assert.deepEqual(waybar, { text: '● Connected', alt: 'connected', class: 'connected' });
  assert.deepEqual(Object.fromEntries(lines.slice(1)), {
    i3bar:
      '[{"name":"culvert","instance":"connected","full_text":"● Connected","short_text":"●","urgent":false,"markup":"none"}],',
    'i3status-rust': '{"state":"Good","text":"● Connected","short_text":"●"}',
    polybar: '● Connected',
    plain: '● Connected',
  });
});

test('without a daemon the line is unknown, never the former state', () => {
  const gone = shownState(null);
  assert.deepEqual([stateOf(gone), JSON.parse(line(gone, 'waybar')).class], ['unknown', 'unknown']);
  for (const format of BAR_FORMATS) assert.doesNotMatch(line(gone, format), /connected/i, format);
  assert.equal(line(gone, 'plain'), '? Unavailable');
});

test('the tooltip of waybar says that settings are old', () => {
  const tooltip = (client: ClientState) => JSON.parse(line(client, 'waybar')).tooltip as string;
  assert.doesNotMatch(tooltip(connected), /may be old/);
  const old = { ...connected, snapshot: { ...connected.snapshot!, hasOldParts: true } };
  assert.match(tooltip(old), /settings could not be read again, so these may be old/);
});

test('a pause has its end, and a block is urgent', () => {
  assert.match(line(paused, 'plain'), /^\|\| Paused until /);
  const [block] = JSON.parse(line(blocked, 'i3bar', false));
  assert.deepEqual([block.full_text, block.urgent], ['■ Internet is blocked', true]);
  assert.equal(JSON.parse(line(blocked, 'i3status-rust')).state, 'Warning');
});

test('i3bar gets a header and an endless array', () => {
  const text = [...barStart('i3bar'), line(connected, 'i3bar'), line(paused, 'i3bar'), line(blocked, 'i3bar', false)];
  const [header, ...array] = text;
  assert.deepEqual(JSON.parse(header!), { version: 1 });
  const statusLines = JSON.parse(`${array.join('\n')}]`) as { full_text: string }[][];
  assert.equal(statusLines.length, 3);
  assert.ok(statusLines.every(([block]) => typeof block!.full_text === 'string'));
  for (const format of BAR_FORMATS.filter(each => each !== 'i3bar')) assert.deepEqual(barStart(format), []);
});

test('a text with markup, tags and line ends stays one line that shows them', () => {
  const odd = { _: (text: string) => `${HOSTILE} ${text}`, ngettext: tr.ngettext };
  for (const client of [connected, paused, blocked]) {
    for (const format of BAR_FORMATS) assert.doesNotMatch(barLine(client, format, true, odd), /\p{Cc}/u, format);
    for (const format of ['waybar', 'i3status-rust'] as const)
      for (const text of Object.values(JSON.parse(barLine(client, format, true, odd)) as Record<string, string>))
        assert.doesNotMatch(text, /<|>|&(?!amp;|lt;|gt;)/, format);
    assert.doesNotMatch(barLine(client, 'polybar', true, odd), /%\{/);
    const [block] = JSON.parse(barLine(client, 'i3bar', false, odd)) as [{ full_text: string; markup: string }];
    assert.match(block.full_text, /a <b> & "c" /);
    assert.equal(block.markup, 'none');
  }
});

test('each state has its own sign', () => {
  const signs = STATES.map(state => {
    const client = state === 'paused' ? paused : state === 'blocked' ? blocked : shownOf(state);
    return line(client, 'plain').split(' ')[0];
  });
  assert.equal(new Set(signs).size, STATES.length, signs.join(' '));
});

function shownOf(state: (typeof STATES)[number]): ClientState {
  if (state === 'needs-you') return clientState({ status: { state: 'unable', blocked: 'not-registered' } });
  return clientState({ status: { state: state as 'connected' } });
}

test('the commands of the documentation exist', () => {
  const text = readFileSync('data/doc/bars.md', 'utf8');
  const blocks = [...text.matchAll(/```\w*\n(.*?)```/gs)].map(([, block]) => block!);
  const commands = blocks.flatMap(block => [...block.matchAll(/\bculvert ([^"\n]+)/g)].map(([, words]) => words!));
  assert.equal(new Set(blocks.flatMap(block => /--format ([\w-]+)/.exec(block)?.[1] ?? [])).size, BAR_FORMATS.length);
  assert.ok(commands.length >= 12);
  for (const words of commands) {
    const [name = '', ...rest] = words.trim().split(' ');
    const spec = COMMANDS.find(each => each.name === name);
    assert.ok(spec, words);
    const options = resolved(spec).options ?? [];
    for (const [at, word] of rest.entries()) {
      if (word.startsWith('--'))
        assert.ok(
          options.some(({ flags }) => flags.split(/[ ,]+/).includes(word)),
          words,
        );
      if (word === '--format') assert.ok((BAR_FORMATS as readonly string[]).includes(rest[at + 1]!), words);
    }
  }
});
