// Entry of `culvert-manifest`, and of its own threads: a thread runs this file again. What each needs is
// loaded by each, since a thread with the command line in it would cost twice the memory.
import { isMainThread, workerData } from 'node:worker_threads';

declare const __VERSION__: string | undefined;

main();

async function main(): Promise<void> {
  if (!isMainThread) {
    const { serveHashing } = await import('./hash.ts');
    return serveHashing(workerData);
  }
  const { run } = await import('./program.ts');
  await run(process.argv.slice(2), {
    env: process.env,
    now: Date.now,
    worker: import.meta.filename,
    version: typeof __VERSION__ === 'string' ? __VERSION__ : 'development',
  });
}
