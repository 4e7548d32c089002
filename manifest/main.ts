// Starts `culvert-manifest`, and its hashing thread, which runs this file again. Each loads only what it needs: a thread
// that also loaded the command line would take twice the memory.
import { isMainThread, workerData } from 'node:worker_threads';

declare const __VERSION__: string | undefined;

main();

async function main(): Promise<void> {
  if (!isMainThread) {
    const { serveHashing } = await import('./hash.ts');
    return serveHashing(workerData);
  }
  const { run } = await import('./cli/program.ts');
  await run(process.argv.slice(2), {
    env: process.env,
    now: Date.now,
    worker: import.meta.filename,
    version: typeof __VERSION__ === 'string' ? __VERSION__ : 'development',
  });
}
