// The table of CLI, failure and place: each recorded failure is replayed in a pipe and at a terminal.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isOption, readInvocation } from '../../../wrapper/run/invocation.ts';
import { classify } from '../../../wrapper/run/rules/classify.ts';
import { sample, third } from '../../support/thoroughness.ts';
import { calls } from '../../support/wrapper/fake-cli.ts';
import { type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { providers } from '../../support/wrapper/shipped.ts';
import { atTerminal } from '../../support/wrapper/terminal.ts';

interface Recording {
  argv: string[];
  exit: number;
  stdout: string;
  stderr: string;
  tty: boolean;
}

const at = (file: string) => fileURLToPath(new URL(`../../../${file}`, import.meta.url));
const CLIS = ['firecrawl', 'tvly', 'supabase', 'gh', 'codex', 'gemini'];

/** Says which account ran, and what it printed when it was recorded; the account `good` succeeds. */
const REPLAY = `#!/bin/sh
echo "$REPLAY_KEY" >> "$HOME/calls"
[ "$REPLAY_KEY" = bad ] || { echo replaced-by-good; exit 0; }
cat "$HOME/stdout"
cat "$HOME/stderr" >&2
exit $(cat "$HOME/exit")
`;

/** One recording for each class of failure, command and kind of output. */
function failuresOf(cli: string): { name: string; recording: Recording }[] {
  const provider = providers[cli]!;
  const found = new Map<string, { name: string; recording: Recording }>();
  for (const line of fs
    .readFileSync(at(`test/fixtures/upstreams/${cli}-transcripts.jsonl`), 'utf8')
    .trim()
    .split('\n')) {
    const recording = JSON.parse(line) as Recording;
    const { tty, argv, stdout, stderr } = recording;
    const invocation = readInvocation(argv.slice(1), provider);
    const isOwn = provider.own_credential.some(option => argv.some(arg => isOption(arg, option)));
    if (tty || isOwn || invocation.passthrough) continue;
    const verdict = classify({ ...recording, signal: null, command: invocation.command }, provider.rules);
    if (verdict.kind !== 'retry') continue;
    const name = `${invocation.command.split(' ')[0]} ${verdict.class} in ${stderr.trim() === '' ? 'stdout' : 'stderr'}${stdout.trim() === '' ? '' : ' with stdout'}`;
    if (!found.has(name)) found.set(name, { name, recording });
  }
  return [...found.values()];
}

async function replay(box: Sandbox, { argv, exit, stdout, stderr }: Recording, place: 'pipe' | 'terminal') {
  for (const [name, text] of Object.entries({ stdout, stderr, exit: String(exit) }))
    fs.writeFileSync(path.join(box.home, name), text);
  fs.rmSync(path.join(box.home, 'calls'), { force: true });
  fs.rmSync(path.join(box.state, 'accounts'), { recursive: true, force: true });
  const [cli, ...args] = argv;
  const quoted = args.map(arg => `'${arg.replaceAll("'", "'\\''")}'`).join(' ');
  const result =
    place === 'pipe'
      ? await box
          .run(cli!, args)
          .then(({ exit: status, stdout: out, stderr: err }) => ({ exit: status, screen: out + err }))
      : await atTerminal(box, `${cli} ${quoted}`);
  // Why an account was left is said on stderr, in both places.
  const told = /account "bad" (.*?)(?:;|$)/m.exec(result.screen)?.[1]?.replace(/paused [^)]*/, 'paused');
  return { exit: result.exit, calls: calls(box), told, shown: result.screen.includes('replaced-by-good') };
}

// recordings.test.ts classifies all that they print, in every run
for (const cli of sample(CLIS, 3))
  test(`${cli}: every kind of recorded failure leads to the same decision in a pipe and at a terminal`, async t => {
    const provider = providers[cli]!;
    const box = sandbox(t);
    box.script(cli, REPLAY);
    box.env.FIRECRAWL_API_URL = 'http://127.0.0.1:9';
    // The key under a separate name, because some names can't be variables of a shell.
    fs.mkdirSync(box.config, { recursive: true, mode: 0o700 });
    fs.writeFileSync(
      path.join(box.config, 'providers.toml'),
      `[providers.${cli}]\ncommit = { after = "1m", stderr_after = "1m" }\ninject = ["REPLAY_KEY"]\nhosts = { names = ["http://127.0.0.1", "profile.yaml"] }\n`,
    );
    box.accounts(cli, { bad: 'bad', good: 'good' }, 'REPLAY_KEY');
    const failures = failuresOf(cli);
    assert.ok(failures.length > 0);
    // a class of failure is recognized in the same way whatever the command
    for (const { name, recording } of third(failures, ({ name }) => name.slice(name.indexOf(' ')))) {
      const pipe = await replay(box, recording, 'pipe');
      const terminal = await replay(box, recording, 'terminal');
      const { once } = readInvocation(recording.argv.slice(1), provider);
      const isSelected = provider.accounts === 'one-per-person';
      // a program whose account is only selected keeps the terminal, so that its standard output is not read there
      assert.deepEqual(isSelected ? { ...terminal, told: pipe.told, exit: pipe.exit } : terminal, pipe, name);
      const moves = !isSelected && provider.account_is === 'quota';
      if (!once || !moves) assert.deepEqual(pipe.calls, moves ? ['bad', 'good'] : ['bad'], name);
      assert.deepEqual([pipe.exit === 0, pipe.shown], Array(2).fill(pipe.calls.length === 2), name);
      const reason = /^(?:has no quota left \(quota|is rate limited \(rate|was refused \(auth), paused/;
      // Output is not held where no other account is ever used.
      if (moves) assert.match(pipe.told ?? '', reason, name);
      else if (!isSelected) assert.match(pipe.told ?? '', /^was refused \(auth\)$/, name);
      t.diagnostic(`${cli} ${name}: ${pipe.calls.length === 2 ? 'moves on' : 'stays'} in both`);
    }
  });
