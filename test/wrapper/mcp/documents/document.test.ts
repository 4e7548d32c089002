// Values change in the text of a configuration file, and every other byte stays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { type Format, openConfiguration } from '../../../../wrapper/mcp/documents/document.ts';
import { sample } from '../../../support/thoroughness.ts';

/** A text, a path, the new value, and the new text. */
type Row = [before: string, path: string, next: unknown, after: string];

const TABLE: Record<Format, Row[]> = {
  json: [
    ['{"a":["x"]}', 'a', ['p', 'q', 'x'], '{"a":["p", "q", "x"]}'],
    ['{"a":["x","y"]}', 'a', ['p', 'x', 'y'], '{"a":["p","x","y"]}'],
    ['{"a":[\n  "x"\n]}', 'a', ['p', 'x'], '{"a":[\n  "p",\n  "x"\n]}'],
    ['{"a":[\r\n\t"x" // c\r\n]}', 'a', ['p', 'x'], '{"a":[\r\n\t"p",\r\n\t"x" // c\r\n]}'],
    ['{"a":[ ]}', 'a', ['p', 'q'], '{"a":["p", "q" ]}'],
    ['{"a":["p", "q" ]}', 'a', [], '{"a":[ ]}'],
    ['{"a":["p", "x",]}', 'a', ['x'], '{"a":["x",]}'],
    ['{"a":["x", "p"]}', 'a', ['x'], '{"a":["x"]}'],
    ['{"a":["x"]}', 'a', ['x', 'p'], '{"a":["x", "p"]}'],
    ['{"a":{"c":"x"}}', 'a', { b: ['y'], c: 'x' }, '{"a":{"b": ["y"], "c":"x"}}'],
    ['{"a":{\n  "c": "x"\n}}', 'a', { b: 'y', c: 'z' }, '{"a":{\n  "b": "y",\n  "c": "z"\n}}'],
    ['{"a":{\n  "b": "y",\n  "c": "x"\n}}', 'a', { c: 'x' }, '{"a":{\n  "c": "x"\n}}'],
    ['{"a":{"b":1,"c":2}}', 'a', { b: 1 }, '{"a":{"b":1}}'],
    ['{"a":{"b":1,"c":2}}', 'a', { b: 1, d: 3 }, '{"a":{"b":1,"d": 3}}'],
    ['{"a":{"b":"\\u0078"}}', 'a', { c: ['x'], b: 'y' }, '{"a":{"c": ["\\u0078"], "b":"y"}}'],
    ['{"a":"x","a":"y"}', 'a', 'z', '{"a":"x","a":"z"}'],
  ],
  toml: [
    ['a = ["x"]\n', 'a', ['p', 'x'], 'a = ["p", "x"]\n'],
    ['a = [\n  "x", # c\n]\n', 'a', ['p', 'x'], 'a = [\n  "p",\n  "x", # c\n]\n'],
    ["a = ['x']\n", 'a', ["it's", 'x'], "a = [\"it's\", 'x']\n"],
    ["a = 'x' # c\n", 'a', 'y', "a = 'y' # c\n"],
    ['[s.t]\nc = "x" # c\n', 's.t', { b: ['y'], c: 'z' }, '[s.t]\nb = ["y"]\nc = "z" # c\n'],
    ['[s.t]\r\n  c = "x"\r\n', 's.t', { b: 1, c: 'x' }, '[s.t]\r\n  b = 1\r\n  c = "x"\r\n'],
    ['[s.t]\nb = ["y"]\nc = "z"\n', 's.t', { c: 'x' }, '[s.t]\nc = "x"\n'],
    ['s.t.c = "x"\n', 's.t', { b: 1, c: 'x' }, 's.t.b = 1\ns.t.c = "x"\n'],
    ['s = { t = { c = "x" } }\n', 's.t', { b: 1, c: 'y' }, 's = { t = { b = 1, c = "y" } }\n'],
    ['[s.t]\nu = "x"\nv = "X"\n', 's.t', { u: 'y', w: { k: 'z' } }, '[s.t]\nu = "y"\nw = { k = "z" }\n'],
    [
      '[s]\n[s.t]\nc = "x"\n[s.t.env]\nK = "k"\n',
      's.t',
      { c: 'x', env: { K: 'l' } },
      '[s]\n[s.t]\nc = "x"\n[s.t.env]\nK = "l"\n',
    ],
    ['[[s]]\nn = 1\n[t]\nc = """\nx"""\n', 't', { c: 'y' }, '[[s]]\nn = 1\n[t]\nc = "y"\n'],
    [
      'd = 2026-11-30T07:00:00Z\n[t]\n"a b" = "x"\n',
      't',
      { 'a b': 'y' },
      'd = 2026-11-30T07:00:00Z\n[t]\n"a b" = "y"\n',
    ],
  ],
  yaml: [
    ['a: [x]\n', 'a', ['p', 'x'], 'a: [p, x]\n'],
    ['a: ["x", "y"]\n', 'a', ['p', 'x', 'y'], 'a: ["p", "x", "y"]\n'],
    ['a:\n  - x # c\n  - y\n', 'a', ['p', 'q', 'x', 'y'], 'a:\n  - p\n  - q\n  - x # c\n  - y\n'],
    ['a:\n- p\n- x\n', 'a', ['x'], 'a:\n- x\n'],
    ['a: []\n', 'a', ['p'], 'a: [p]\n'],
    ['a: x # c\nb: 1\n', 'a', 'yes', 'a: "yes" # c\nb: 1\n'],
    ['a: Bearer x\n', 'a', 'Bearer y', 'a: Bearer y\n'],
    ['a: Bearer x\n', 'a', 'b: # y ', 'a: "b: # y "\n'],
    ["a: 'x'\n", 'a', "it's", "a: 'it''s'\n"],
    ['s:\n  t:\n    c: x\n', 's.t', { b: ['w'], c: 'z' }, 's:\n  t:\n    b: [w]\n    c: z\n'],
    ['s:\n  t:\n    b: [y]\n    c: z\n', 's.t', { c: 'x' }, 's:\n  t:\n    c: x\n'],
    ['s: { t: { c: x } }\n', 's.t', { b: 'a,b', c: 'x' }, 's: { t: { b: "a,b", c: x } }\n'],
  ],
};

for (const [format, rows] of Object.entries(TABLE) as [Format, Row[]][])
  test(`${format}: only what differs changes`, () => {
    for (const [before, path, next, after] of rows) {
      assert.equal(openConfiguration(before, format).replace(path.split('.'), next).text, after, before);
      const marked = openConfiguration(`\uFEFF${before}`, format).replace(path.split('.'), next);
      assert.equal(marked.text, `\uFEFF${after}`);
    }
  });

test('a change that would need another layout, or change another value, is refused', () => {
  const refused: [Format, string, string, unknown][] = [
    ['yaml', 'a: &x p\nb: *x\n', 'a', 'q'],
    ['yaml', 'a: &x p\nb: *x\n', 'b', 'q'],
    ['yaml', 'a: |\n  text\n', 'a', 'q'],
    ['yaml', 'a:\n', 'a', 'q'],
    ['yaml', 'a:\n  - x\n', 'a', []],
    ['yaml', 'a:\n  b: 1\n', 'a', 'x'],
    ['toml', '[a]\nb = 1\n', 'a', 'x'],
    ['toml', '[a]\n[a.b]\nc = 1\n', 'a', {}],
    ['json', '{}', 'a', 'x'],
    ['json', '{"a":{}}', 'a', { b: 1 }],
  ];
  for (const [format, text, path, next] of refused)
    assert.throws(() => openConfiguration(text, format).replace([path], next), { code: 'layout' }, text);
});

test('a text that does not have the format is refused with its line', () => {
  const refused: [Format, string, RegExp][] = [
    ['json', '{\n"a" 1}', /^line 2: colon expected$/],
    ['json', '['.repeat(100_000), /nested too deeply|line 1/],
    ['toml', 'a = 1\na = 2\n', /^line 2: /],
    ['toml', 'a =\n', /^line 1: /],
    ['toml', 'b = 1\na = # c\n', /^line 2: /],
    ['yaml', 'a: [\n', /^line \d+: /],
    ['yaml', 'a: 1\na: 2\n', /^line 2: /],
    [
      'yaml',
      `a: &a [x, x]\n${Array.from({ length: 20 }, (_, i) => `b${i}: &b${i} [${i ? `*b${i - 1}, *b${i - 1}` : '*a, *a'}]`).join('\n')}\n`,
      /too many aliases/,
    ],
    ['yaml', `a: ${'['.repeat(200)}${']'.repeat(200)}\n`, /nested too deeply/],
  ];
  for (const [format, text, message] of refused)
    assert.throws(() => openConfiguration(text, format), { message }, text.slice(0, 50));
});

/** Numbers that look random, and are the same in every run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const BLANKS = ['', '\n', '# a comment\n', '\t\n', '#\n\n'];
/** Texts whose style a new text can have, and others. */
const PLAIN = ['"x"', "'x'", '"a # b"', '""', "'[x]'"];
const OTHERS = ['"\\u00e9"', '"""x"""', "'''x\n'''", '"\\t"'];

/** A TOML file with servers in many layouts, and the source of the key of the server `target`. */
function tomlFile(pick: (below: number) => number): { text: string; key: string } {
  const any = <T>(from: readonly T[]) => from[pick(from.length)]!;
  const string = () => any(pick(3) === 0 ? OTHERS : PLAIN);
  const args = () => {
    const items = Array.from({ length: 1 + pick(3) }, string);
    const lines = `[\n${items.map(each => `  ${each}, # c\n`).join('')}]`;
    return any([`[${items.join(', ')}]`, `[ ${items.join(' , ')} ]`, `[${items.join(',')}]`, lines]);
  };
  const pad = () => any(['', ' ', '\t']);
  const comment = () => any(['', ' # c', '  #']);
  const server = (name: string, key: string) =>
    any([
      `[mcp_servers.${name}]\n${any(BLANKS)}${pad()}command = ${string()}${comment()}\n${any(BLANKS)}args = ${args()}\n${any(BLANKS)}[mcp_servers.${name}.env]\nKEY = ${key}${comment()}\n`,
      `[mcp_servers.${name}]\nargs = ${args()}\ncommand=${string()}\nenv = { KEY = ${key}, "O K" = 1 }\n`,
      `[ mcp_servers . "${name}" ]\nenv.KEY = ${key}\n${pad()}command = ${string()}\n`,
    ]);
  const key = string();
  const servers = [server('before', string()), server('target', key), server('after', string())];
  const end = any(['', '[[x]]\na = 1\n[[x]]\n', '[z]\nn = 0x1F\nf = 1e3\n']);
  const text = `${any(BLANKS)}model = "m" # c\nd = 1979-05-27T07:32:00Z\n${servers.map(each => any(BLANKS) + each).join('')}${end}`;
  // parsers differ in whether such a line end in a text of several lines is one character
  const isPlain = !text.includes("'''");
  return { text: pick(4) === 0 && isPlain ? text.replaceAll('\n', '\r\n') : text, key };
}

/** A value as another parser reads it, with dates as texts. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('TOML of any layout means the same but for the change, and the reverse brings its bytes back', () => {
  const seeds = Array.from({ length: 900 }, (_, index) => index + 1);
  let exact = 0;
  for (const seed of sample(seeds, 300)) {
    const { text, key } = tomlFile(random(seed));
    const before = parseToml(text) as { mcp_servers: Record<string, Record<string, unknown>> };
    // its tables have no prototype
    const entry = structuredClone(before.mcp_servers.target) as { command: string; args?: string[]; env: object };
    const { args, command, ...others } = entry;
    const after = { args: ['mcp', '--', command, ...(args ?? [])], command: '/bin/wrap', ...others };
    const next = { ...after, env: { ...entry.env, KEY: 'a:reference' } };
    const changed = openConfiguration(text, 'toml').replace(['mcp_servers', 'target'], next);
    const expected = { ...before, mcp_servers: { ...before.mcp_servers, target: next } };
    assert.deepEqual(asJson(parseToml(changed.text)), asJson(expected), text);
    const back = changed.replace(['mcp_servers', 'target'], entry);
    assert.deepEqual(asJson(parseToml(back.text)), asJson(before), text);
    // one text in two styles: the client's change would be refused (clients.ts)
    if (!PLAIN.includes(key) || text.includes('"""x"""')) continue;
    exact += 1;
    assert.equal(back.text, text);
  }
  assert.ok(exact > 50, String(exact));
});

test('a YAML parser reads the same after a change, but for the change', () => {
  const text =
    '# c\nextensions:\n  a: &a { type: stdio, cmd: npx, args: [-y, x] }\n  b:\n    args:\n      - -y # c\n\n      - x\n    cmd: "npx"\nlist: [*a, *a]\n';
  const changed = openConfiguration(text, 'yaml').replace(['extensions', 'b'], {
    args: ['mcp', '--', 'npx', '-y', 'x'],
    cmd: '/bin/wrap',
  });
  const before = parseYaml(text);
  assert.deepEqual(parseYaml(changed.text), {
    ...before,
    extensions: { ...before.extensions, b: { args: ['mcp', '--', 'npx', '-y', 'x'], cmd: '/bin/wrap' } },
  });
});
