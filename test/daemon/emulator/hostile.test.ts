// The emulator ends with one sentence, and never with a stack trace, whatever it is given and wherever it prints.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { type Emulator, emulator, type Result } from '../../support/daemon/emulator.ts';

/** Words for `--emulate`, variables, and the command that then fails. */
const CASES: [words: string[], env: NodeJS.ProcessEnv, argv: string[], exitCode: number][] = [
  [['connection=5'], {}, ['status'], 1],
  [['connection={}'], {}, ['tunnel', 'stats'], 1],
  [['connection=7'], {}, ['-l', 'status'], 1],
  [['version=5'], {}, ['--version'], 1],
  [['policy=5', 'settings.mode=5'], {}, ['-j', 'settings'], 1],
  [['vnets=[null]'], {}, ['vnet'], 1],
  [['settings.ips=[null]'], {}, ['settings'], 1],
  [[], { CULVERT_EMULATOR_FAULTS: 'reason={x' }, ['status'], 1],
  [[], { CULVERT_EMULATOR_FAULTS: 'huge=1000000000000' }, ['status'], 1],
  [[], { CULVERT_EMULATOR_FAULTS: 'a\n\u001b[31mb' }, ['status'], 2],
  [[], { CULVERT_EMULATOR_VERSION: '2021.3' }, ['status'], 2],
  [[], { CULVERT_EMULATOR_CONNECT_MS: 'soon' }, ['connect'], 2],
  [[], { CULVERT_EMULATOR_STATE: '/dev/null/state' }, ['status'], 1],
  [[], { CULVERT_EMULATOR_STATE: '/' }, ['status'], 1],
  [[], { CULVERT_EMULATOR_STATE: '', XDG_STATE_HOME: '', HOME: 'here' }, ['status'], 2],
  [[], {}, ['--host-proxy'], 2],
  [[], {}, ['--emulate', '__proto__.x=1'], 2],
  [[], {}, ['--emulate', 'settings.toString=1'], 2],
  [[], {}, ['--emulate', 'settings.mode.deep=1'], 2],
  [[], {}, ['--emulate', '\n'], 2],
];

describe('the emulator under hostile input', { concurrency: 2 }, () => {
  let shared: Emulator;
  before(async () => {
    shared = await emulator({ program: true });
  });
  after(() => shared.remove());

  for (const [words, env, argv, exitCode] of CASES)
    it(`ends with a sentence: ${JSON.stringify([...words, env, ...argv])}`, async () => {
      const program = await emulator({ program: true });
      try {
        if (words.length > 0) await program.control(...words);
        const result = await program.runWith(env, ...argv);
        assert.match(result.stderr, /^culvert-emulator: [^\n\x1b]+\n$/);
        assert.equal(result.exitCode, exitCode);
      } finally {
        await program.remove();
      }
    });

  const shell = (command: string) =>
    new Promise<Result>(resolve => {
      const child = execFile('bash', ['-c', command], { env: shared.env }, (_, stdout, stderr) =>
        resolve({ stdout, stderr, exitCode: child.exitCode, signal: child.signalCode }),
      );
    });

  it('ends quietly when the reader of its output is gone', async () => {
    const command = `CULVERT_EMULATOR_FAULTS=huge '${shared.bin}' settings | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await shell(command);
    assert.deepEqual([stdout, stderr], ['1\n', '']);
  });

  it('says that its output cannot be written', async () => {
    const { stderr, exitCode } = await shell(`'${shared.bin}' settings > /dev/full`);
    assert.deepEqual([stderr, exitCode], ["culvert-emulator: The output can't be written (ENOSPC).\n", 1]);
  });
});
