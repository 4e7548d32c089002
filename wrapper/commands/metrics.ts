// Implements `metrics`, which prints the state in the wrapper's files as text for Prometheus.
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { reason } from '../../daemon/core/errors.ts';
import type { Context } from '../context.ts';
import { collectWrapSamples, UNREADABLE, type WrapSamples } from '../store/metrics/collect.ts';
import { exposition, WRAP_FAMILIES } from '../store/metrics/families.ts';
import { keepTally, metricsKey } from '../store/metrics/tally.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { writeAtomic } from '../system/files.ts';

interface Options {
  out?: string;
  hashAccounts?: boolean;
}

/**
 * Prints the metrics, or writes them to a file, which it replaces as a whole. If the wrapper's files can't be read, the metrics
 * say so before the command fails.
 * @throws WrapError `config-broken`, `not-stored`, `no-directory`
 */
export async function printMetrics({ out, hashAccounts }: Options, context: Context): Promise<void> {
  const { cwd } = context;
  const { samples, problem } = collect(hashAccounts ?? false, context);
  const text = await exposition(WRAP_FAMILIES, samples, 'prometheus');
  if (out === undefined) process.stdout.write(text);
  else writeForEverybody(resolve(cwd, out), text);
  if (problem) throw problem;
}

function collect(hashed: boolean, { paths, now }: Context): { samples: WrapSamples; problem?: unknown } {
  try {
    const key = hashed ? metricsKey(paths) : undefined;
    const tally = keepTally(paths, error => say(`what was counted could not be stored: ${reason(error)}`));
    return { samples: collectWrapSamples(paths, { now: now(), tally, key }) };
  } catch (problem) {
    return { samples: UNREADABLE, problem };
  }
}

/** Writes a file for a node exporter, which runs as another user and could not read a directory created here. */
function writeForEverybody(file: string, text: string): void {
  const directory = dirname(file);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory())
    throw new WrapError('no-directory', EXIT.noInput, `${file} can't be written: there is no directory ${directory}`, {
      hint: 'make the directory that the node exporter reads (--collector.textfile.directory)',
    });
  writeAtomic(file, text, 0o644);
}
