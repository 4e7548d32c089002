// The wrapper's figures, as ratios or differences measured in the same run; exits 1 when a bar is not met.
// Run: node --import tsx test/bench/wrapper.ts [rounds [start|throughput|held|first-byte]]
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { findOnPath } from '../../wrapper/store/installs.ts';
import { sandbox } from '../support/wrapper/sandbox.ts';
import { median, report, roundsOf, sized } from './support/report.ts';

const rounds = roundsOf(40);
const only = process.argv[3];
const cleanups: (() => void)[] = [];
const box = sandbox({ after: (fn?: unknown) => void cleanups.push(fn as () => void) });

// NODE_EXTRA_CA_CERTS would slow the yardstick down and not the wrapper, which drops it.
const env = box.env;

const parts = { start, throughput, held, 'first-byte': firstByte };
for (const [name, measure] of Object.entries(parts)) if (only === undefined || only === name) await measure();

for (const cleanup of cleanups) cleanup();

/** Time that a shim and the wrapper add to the start of a command. */
async function start() {
  box.script('plain', '#!/bin/sh\necho ok\n');
  box.script('twin', '#!/bin/sh\necho ok\n');
  box.script('single', '#!/bin/sh\necho ok\n');
  box.script('many', '#!/bin/sh\ncase "$FAKE_KEY" in bad*) echo "Error: quota" >&2; exit 1 ;; esac\necho ok\n');
  box.script('pair', '#!/bin/sh\necho ok\n');
  for (const name of ['twin', 'single', 'pair', 'many']) {
    box.provider(name, `inject = ["FAKE_KEY"]\n[[providers.${name}.rules]]\nclass = "quota"\nstderr = "^Error: quota"`);
  }
  box.install('twin');
  box.accounts('single', { a: 'ok' });
  box.accounts('pair', { a: 'ok', b: 'ok' });
  box.accounts('many', { a: 'bad1', b: 'bad2', c: 'bad3', d: 'bad4', e: 'ok' });
  for (const cli of ['single', 'single', 'pair', 'many']) await box.run(cli, ['warm']);

  const failing = () => {
    fs.rmSync(path.join(box.state, 'accounts/many.json'), { force: true });
    return `${box.bin}/many`;
  };
  const own = measureOne(() => spawnSync('/bin/sh', ['-c', 'echo "Error: quota" >&2; exit 1'], { env }));
  const times = interleave({
    node: () => [process.execPath, '-e', '0'],
    sh: () => ['/bin/sh', '-c', ':'],
    direct: () => [`${box.bin}/plain`, 'x'],
    shim: () => [`${box.bin}/twin`, 'x'],
    one: () => [`${box.bin}/single`, 'x'],
    two: () => [`${box.bin}/pair`, 'x'],
    five: () => [failing(), 'x'],
  });
  const difference = (a: keyof typeof times, b: keyof typeof times) =>
    median(times[a]!.map((ms, i) => ms - times[b]![i]!));
  const ratio = (a: keyof typeof times, b: keyof typeof times) => median(times[a]!.map((ms, i) => ms / times[b]![i]!));

  report('shim without accounts, against sh -c :', ratio('shim', 'sh'), 1.9, '×');
  report('one account, over the original', difference('one', 'direct'), 3, 'ms');
  report('two accounts, success, against node -e 0', ratio('two', 'node'), 1.8, '×');
  report('each further failed account', difference('five', 'two') / 4 - own, 2, 'ms');

  const firecrawl = findOnPath('firecrawl', `${process.env.CULVERT_TEST_UPSTREAMS ?? ''}:${process.env.PATH}`);
  if (firecrawl) {
    fs.symlinkSync(fs.realpathSync(firecrawl), path.join(box.bin, 'firecrawl'));
    box.install('firecrawl');
    const pair = interleave(
      {
        original: () => [fs.realpathSync(firecrawl), '--version'],
        shimmed: () => [`${box.bin}/firecrawl`, '--version'],
      },
      rounds * 2,
    );
    report('firecrawl --version', median(pair.shimmed!.map((ms, i) => ms / pair.original![i]!)), 1.02, '×');
  } else console.log('skipped: firecrawl --version (no firecrawl on PATH or in CULVERT_TEST_UPSTREAMS)');
}

/** 1 GB through the commit point, with the largest resident size of the wrapper's own process. */
async function throughput() {
  const megabytes = sized(1024, 32);
  const text = `#!/bin/sh\nexec head -c ${megabytes}M /dev/zero\n`;
  box.script('flood', text);
  box.script('floodplain', text);
  box.provider('flood', 'inject = ["FAKE_KEY"]');
  box.accounts('flood', { a: 'k1', b: 'k2' });
  await drain(`${box.bin}/flood`); // the first run after a change by hand compiles the configuration
  const ratios: number[] = [];
  let peak = 0;
  for (let i = 0; i < sized(5, 1); i++) {
    const direct = await drain(`${box.bin}/floodplain`);
    const wrapped = await drain(`${box.bin}/flood`);
    if (wrapped.bytes !== megabytes * 1024 * 1024) throw new Error(`lost bytes: ${wrapped.bytes}`);
    ratios.push(wrapped.ms / direct.ms);
    peak = Math.max(peak, wrapped.peak);
  }
  report('1 GB of stdout through the commit point', median(ratios), 1.6, '×');
  report('memory meanwhile', peak / 1024, 70, 'MB');
}

/** An upstream that fails after 300 MB of stderr, which is held and then shown. */
async function held() {
  box.script('noisy', `#!/bin/sh\nyes "a line of progress" | head -c ${sized(300, 8)}M >&2\nexit 1\n`);
  box.provider('noisy', 'inject = ["FAKE_KEY"]');
  box.accounts('noisy', { a: 'k1', b: 'k2' });
  const peaks: number[] = [];
  for (let i = 0; i < sized(4, 2); i++) peaks.push((await drain(`${box.bin}/noisy`, '2>&1')).peak);
  report('memory while 300 MB of stderr are held', Math.max(...peaks.slice(1)) / 1024, 70, 'MB');
}

async function firstByte() {
  box.script('slow', '#!/bin/sh\ndate +%s%3N\nexec sleep 2\n');
  box.provider('slow', 'inject = ["FAKE_KEY"]');
  box.accounts('slow', { a: 'k1', b: 'k2' });
  const child = spawn(`${box.bin}/slow`, ['x'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const written = Number(await new Promise(resolve => child.stdout.once('data', resolve)));
  // the window of 500 ms begins with the first byte, and ends in a process that passes it on
  report('first byte of a slow upstream, after it was written', Date.now() - written, 500 + 15, 'ms (window 500)');
  child.kill();
}

function drain(program: string, redirect = ''): Promise<{ ms: number; bytes: number; peak: number }> {
  return new Promise(resolve => {
    const started = performance.now();
    // The reader is wc, so that this process does not compete for the two cores.
    const child = spawn('sh', ['-c', `{ ${program} x ${redirect} & echo $! >&3; wait $!; } | wc -c`], {
      env,
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    let out = '';
    let peak = 0;
    let pid = 0;
    child.stdio[3]!.on('data', chunk => {
      pid = Number(chunk);
    });
    const timer = setInterval(() => {
      try {
        const match = /VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
        if (match) peak = Math.max(peak, Number(match[1]));
      } catch {
        // Not started, or gone.
      }
    }, 20);
    child.stdout!.on('data', chunk => {
      out += chunk;
    });
    child.on('close', () => {
      clearInterval(timer);
      resolve({ ms: performance.now() - started, bytes: Number(out), peak });
    });
  });
}

function interleave(cases: Record<string, () => string[]>, count = rounds): Record<string, number[]> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(cases).map(name => [name, []]));
  for (let round = sized(-2, 0); round < count; round++) {
    for (const [name, command] of Object.entries(cases).sort(() => Math.random() - 0.5)) {
      const [program, ...args] = command();
      const started = performance.now();
      const { status, stderr } = spawnSync(program!, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
      const ms = performance.now() - started;
      if (status !== 0) throw new Error(`${name}: exit ${status}: ${stderr}`);
      if (round >= 0) times[name]!.push(ms);
    }
  }
  return times;
}

function measureOne(run: () => void): number {
  return median(
    Array.from({ length: rounds }, () => {
      const started = performance.now();
      run();
      return performance.now() - started;
    }),
  );
}
