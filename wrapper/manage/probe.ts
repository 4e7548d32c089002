// Runs an installed CLI against a loopback fake of its API, and compares the verdict of the catalog's rules with the expected one.
import * as fs from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { runHelper } from '../../daemon/core/run-helper.ts';
import type { Provider } from '../catalog/provider.ts';
import { readInvocation } from '../run/invocation.ts';
import { classify, type FailureClass, stripAnsi } from '../run/rules/classify.ts';

export interface ProbeResult {
  args: string[];
  /** HTTP status that the fake answered with. */
  status: number;
  expect: FailureClass | 'success';
  got: FailureClass | 'success' | 'timeout' | 'not-started';
  /** Number of requests that the fake got. */
  requests: number;
  exit: number | null;
  ms: number;
  /** Text that a rule would have to match, when the result is not the expected one. */
  stderr: string;
}

const TIMEOUT_MS = 30_000;

/**
 * Runs every probe of a catalog entry, one after another, each with its own home directory.
 * @param program absolute path of the original program
 * @param search `PATH` for the CLI
 */
export async function runProbes(provider: Provider, program: string, search: string): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const probe of provider.probes) results.push(await runProbe(provider, probe, program, search));
  return results;
}

async function runProbe(
  provider: Provider,
  probe: Provider['probes'][number],
  program: string,
  search: string,
): Promise<ProbeResult> {
  const fake = await startFake(probe);
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-wrap-probe-'));
  try {
    const fill = (text: string) => text.replaceAll('{fake}', `http://${fake.host}`).replaceAll('{host}', fake.host);
    const env: NodeJS.ProcessEnv = { HOME: home, PATH: search, LANG: 'C.UTF-8' };
    for (const [name, value] of Object.entries(provider.probe_env)) env[fill(name)] = fill(value);
    for (const [name, text] of Object.entries(provider.probe_files)) {
      const file = path.join(home, name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, fill(text));
    }
    const args = probe.args.map(fill);
    const started = Date.now();
    const run = await runHelper([program, ...args], { env, cwd: home, timeoutMs: TIMEOUT_MS });
    const outcome = { ...run, signal: null, command: readInvocation(args, provider).command };
    return {
      args: probe.args,
      status: probe.status,
      expect: probe.expect,
      got: run.error ? 'not-started' : run.timedOut ? 'timeout' : verdict(classify(outcome, provider.rules)),
      requests: fake.requests(),
      exit: run.exit,
      ms: Date.now() - started,
      stderr: stripAnsi(run.stderr).trim().slice(0, 500),
    };
  } finally {
    fake.close();
    fs.rmSync(home, { recursive: true, force: true });
  }
}

function verdict(result: ReturnType<typeof classify>): ProbeResult['got'] {
  return result.kind === 'success' ? 'success' : result.class;
}

async function startFake(probe: Provider['probes'][number]) {
  let requests = 0;
  const server = http.createServer((request, response) => {
    requests++;
    request.resume();
    response.writeHead(probe.status, { 'Content-Type': 'application/json', ...probe.headers });
    response.end(probe.body ?? '{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
