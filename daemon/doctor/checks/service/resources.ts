// Checks what the tunnel service uses: memory, descriptors and logs, and how fast they grow.
import type { Message } from '../../../api/values.ts';
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, problem } from '../../check.ts';
import { RESTART_WARP } from '../../world/facts.ts';
import { growthPerHour, type Sample } from '../../world/samples.ts';
import { processesNamed } from '../../world/sockets.ts';
import type { World } from '../../world/world.ts';

const LOG_DIRECTORIES = ['/var/log/cloudflare-warp', '/var/lib/cloudflare-warp'];
const MIB = 1024 * 1024;
const MEMORY_BYTES = 1024 * MIB;
const MEMORY_PER_HOUR = 20 * MIB;
/** Part of the limit of descriptors that leaves too little room. */
const DESCRIPTORS_USED = 0.8;
const LOG_BYTES = 1024 * MIB;
const LOG_PER_HOUR = 100 * MIB;

export const resources: Check = {
  id: 'service-resources',
  title: N_('Memory, descriptors and logs of the WARP service'),
  group: 'service',
  source: 'https://github.com/fscarmen/warp/issues/182',
  async probe(world) {
    const [pid] = await processesNamed(world, 'warp-svc');
    const logBytes = await logSize(world);
    const measured = pid === undefined ? null : await measure(world, pid, logBytes);
    if (!measured && logBytes === null) return notApplicable(message('The WARP service does not run here.'));
    const sample = measured?.sample ?? null;
    if (sample) world.remember(sample);
    const lines = [
      ...(sample ? describeProcess(world, sample, measured?.limit ?? null) : []),
      ...describeLogs(world, logBytes, sample),
    ];
    const evidence = lines.map(({ text }) => text);
    const worst = lines.find(({ bad }) => bad);
    if (!worst) return ok(...evidence);
    return (worst.bad === 'now' ? problem : notice)(
      evidence,
      message(
        'The WARP service uses more resources than it should. Restarting it helps for a while; with a memory limit, systemd does that automatically.',
      ),
      RESTART_WARP,
    );
  },
};

/** `now`: too much already. `soon`: on the way there. */
type Line = { text: Message; bad: 'now' | 'soon' | null };

async function measure({ files, now }: World, pid: number, logBytes: number | null) {
  const [status, stat, limits, descriptors] = await Promise.all([
    files.readText(`/proc/${pid}/status`),
    files.readText(`/proc/${pid}/stat`),
    files.readText(`/proc/${pid}/limits`).catch(() => null),
    files.list(`/proc/${pid}/fd`),
  ]);
  if (status === null || stat === null) return null; // it has ended
  const memory = /^VmRSS:\s*(\d+) kB/m.exec(status)?.[1];
  const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  const limit = /^Max open files\s+(\d+)/m.exec(limits ?? '')?.[1];
  const sample: Sample = {
    at: now(),
    started,
    memoryBytes: memory ? Number(memory) * 1024 : null,
    // the descriptors of another user's process can't be counted
    descriptors: descriptors.length || null,
    logBytes,
  };
  return { sample, limit: limit ? Number(limit) : null };
}

function describeProcess(world: World, sample: Sample, limit: number | null): Line[] {
  const lines: Line[] = [];
  const { memoryBytes, descriptors } = sample;
  if (memoryBytes !== null) {
    const growth = growthPerHour(world.samples, sample, ({ memoryBytes: bytes }) => bytes);
    const fast = growth !== null && growth > MEMORY_PER_HOUR;
    lines.push({
      text:
        growth === null
          ? message('memory: %s', mib(memoryBytes))
          : message('memory: %s, %s an hour', mib(memoryBytes), signed(growth)),
      bad: memoryBytes > MEMORY_BYTES ? 'now' : fast ? 'soon' : null,
    });
  }
  if (descriptors !== null) {
    const full = limit !== null && descriptors > limit * DESCRIPTORS_USED;
    const text = limit ? message('descriptors: %d of %d', descriptors, limit) : message('descriptors: %d', descriptors);
    lines.push({ text, bad: full ? 'now' : null });
  }
  return lines;
}

function describeLogs(world: World, logBytes: number | null, sample: Sample | null): Line[] {
  if (logBytes === null) return [];
  const growth = sample && growthPerHour(world.samples, sample, ({ logBytes: bytes }) => bytes);
  const fast = growth !== null && growth > LOG_PER_HOUR;
  const text =
    growth === null
      ? message('logs: %s', mib(logBytes))
      : message('logs: %s, %s an hour', mib(logBytes), signed(growth));
  return [{ text, bad: logBytes > LOG_BYTES ? 'now' : fast ? 'soon' : null }];
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

function signed(growth: number): string {
  return `${growth >= 0 ? '+' : '-'}${mib(Math.abs(growth))}`;
}

/** Bytes in log files, or null if none can be seen. */
async function logSize({ files }: World): Promise<number | null> {
  const sizes = await Promise.all(
    LOG_DIRECTORIES.map(async directory => {
      const names = (await files.list(directory)).filter(name => /\.(log|txt)(\.\d+)?$/.test(name));
      const stats = await Promise.all(names.map(name => files.stat(`${directory}/${name}`)));
      return stats.flatMap(info => (info?.kind === 'file' ? [info.size] : []));
    }),
  );
  const all = sizes.flat();
  return all.length === 0 ? null : all.reduce((sum, size) => sum + size, 0);
}
