// The manifest's figures over 2 GiB in 200 files, as ratios to openssl in the same run; exits 1 when a bar is not met.
// Run: node --import tsx test/bench/manifest.ts [rounds]
import { spawn } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { buildManifest } from '../support/manifest/bundle.ts';
import { quiet } from './support/quiet.ts';
import { median, note, report, roundsOf, sized } from './support/report.ts';

const rounds = roundsOf(20);
const FILES = 200;
const BYTES = sized(2 * 1024 ** 3, 4 * 1024 ** 2);
const MEGABYTE = 1e6;

const program = buildManifest();
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-manifest-bench-'));
try {
  await measure();
} finally {
  fs.rmSync(directory, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const files = fill();
  const manifest = path.join(directory, 'release-manifest.v1.json');
  const cases: Record<string, string[]> = {
    openssl: ['openssl', 'dgst', '-sha256', ...files],
    create: [process.execPath, program, 'create', '--out', manifest, '--tag', 'v1.0.0', ...files],
    verify: [process.execPath, program, 'verify', manifest],
  };
  const times: Record<string, number[]> = { openssl: [], create: [], verify: [] };
  const memory: Record<string, number> = { openssl: 0, create: 0, verify: 0 };
  // the first round reads the files into the page cache, and makes the manifest that verify needs
  for (let round = -1; round < rounds; round++) {
    const names = Object.keys(cases);
    for (const name of round < 0 ? names : shuffled(names)) {
      // two threads against one on two cores: whatever else runs takes from the two only
      await quiet();
      const { seconds, peak } = await run(cases[name]!);
      if (round >= 0) times[name]!.push(seconds);
      memory[name] = Math.max(memory[name]!, peak);
    }
  }
  for (const name of ['create', 'verify']) {
    const ratios = times[name]!.map((seconds, i) => seconds / times.openssl![i]!);
    report(`${name}, 2 GiB in ${FILES} files, time against openssl dgst -sha256`, median(ratios), 0.6, '×');
    report(`${name}, largest resident size`, memory[name]! / MEGABYTE, 80, 'MB');
  }
  note('openssl dgst -sha256', median(times.openssl!), 's');
}

/** Sizes as a release has them, from small to several times the mean; content that does not compress or repeat. */
function fill(): string[] {
  const block = randomFillSync(Buffer.alloc(1024 * 1024));
  const weights = Array.from({ length: FILES }, (_, i) => 1 + (i % 20));
  const unit = BYTES / weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight, index) => {
    const file = path.join(directory, `culvert-${String(index).padStart(3, '0')}.bin`);
    const fd = fs.openSync(file, 'w');
    for (let left = Math.round(weight * unit); left > 0; ) {
      block.writeUInt32LE(left, 0);
      left -= fs.writeSync(fd, block, 0, Math.min(block.length, left));
    }
    fs.closeSync(fd);
    return file;
  });
}

/** Runs a command; the peak is `VmHWM`, which the kernel keeps, read until the process is gone. */
function run(argv: string[]): Promise<{ seconds: number; peak: number }> {
  return new Promise((resolve, reject) => {
    const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env; // as the launcher does
    const begin = process.hrtime.bigint();
    const child = spawn(argv[0]!, argv.slice(1), { stdio: 'ignore', env });
    let peak = 0;
    const timer = setInterval(() => {
      try {
        const status = fs.readFileSync(`/proc/${child.pid}/status`, 'latin1');
        peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024);
      } catch {
        // it has just ended
      }
    }, 20);
    child.once('error', reject);
    child.once('exit', code => {
      clearInterval(timer);
      const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
      if (code === 0) resolve({ seconds, peak });
      else reject(new Error(`${argv.slice(0, 3).join(' ')} ended with ${code}`));
    });
  });
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map(item => [Math.random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}
