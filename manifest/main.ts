// Starts `culvert-manifest` and its hashing thread, which runs the same file. Each loads only the modules it needs, because
// a thread that also loaded the command line would take twice the memory.
import { isMainThread, workerData } from 'node:worker_threads';

declare const __VERSION__: string | undefined;

main();

async function main(): Promise<void> {
  if (!isMainThread) {
    const { serveHashing } = await import('./artifacts.ts');
    return serveHashing(workerData);
  }
  const { runCommandLine } = await import('./cli/program.ts');
  const { env, stdout, stderr } = process;
  // head and less close the pipe early, which is not a failure
  stdout.on('error', error => process.exit('code' in error && error.code === 'EPIPE' ? 0 : 1));
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    env,
    stdout,
    stderr,
    now: Date.now,
    worker: import.meta.filename,
    version: typeof __VERSION__ === 'string' ? __VERSION__ : 'development',
  });
}
