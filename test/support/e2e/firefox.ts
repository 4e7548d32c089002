// Debian's Firefox, driven over Marionette: a TCP connection that carries `LENGTH:JSON` messages both ways.
// playwright-core drives it over WebDriver BiDi, with commands that the ESR of Debian 12 does not know.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { temporary } from '../temporary.ts';
import { until } from '../until.ts';

export interface Firefox {
  open(address: string): Promise<void>;
  /** Runs the body of a function in the page, and returns what it returns; a promise is awaited. */
  run<T>(body: string): Promise<T>;
  /** Clicks, with the mouse, the element that the body of a function returns. @returns whether it was there and in sight */
  click(body: string): Promise<boolean>;
  /** Types keys, as WebDriver names them, into what has the focus. */
  type(keys: string): Promise<void>;
  /** Opens another tab, and works there from now on. @returns what comes back to the tab before */
  openTab(address: string): Promise<() => Promise<void>>;
}

/** WebDriver's name for a reference to an element. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

const PREFERENCES = {
  'marionette.port': 0,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'app.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'intl.accept_languages': 'en-US',
};

/** Firefox without a window, in its own profile; ended with the test. */
export async function launchFirefox(t: { after(end: () => unknown): unknown }): Promise<Firefox> {
  let end = async () => {};
  t.after(() => end()); // before the profile is removed
  const profile = temporary(t, 'firefox');
  const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  writeFileSync(join(profile, 'user.js'), lines.join('\n'));
  const child = spawn('firefox-esr', ['--headless', '--marionette', '--profile', profile, '--no-remote'], {
    env: { PATH: process.env.PATH!, HOME: profile, LANG: 'C.UTF-8' },
    stdio: 'ignore',
    detached: true,
  });
  const ended = once(child, 'exit');
  end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid!, 'SIGKILL');
    await ended;
  };
  const port = Number(await until(() => readIfThere(join(profile, 'MarionetteActivePort')), 'the port of Firefox'));
  const send = await createConnection(port);
  await send('WebDriver:NewSession', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
  // messages at the bottom cover nothing that is to be clicked
  await send('WebDriver:SetWindowRect', { width: 1200, height: 2000 });
  const run = async <T>(body: string): Promise<T> => {
    const script = `const [done] = arguments;
      (async () => { ${body} })().then(value => done({ value }), error => done({ error: String(error) }));`;
    const answer = (await send('WebDriver:ExecuteAsyncScript', { script, args: [], newSandbox: false })) as {
      value: { value: T; error?: string };
    };
    if (answer.value.error !== undefined) throw new Error(answer.value.error);
    return answer.value.value;
  };
  const open = async (url: string) => void (await send('WebDriver:Navigate', { url }));
  return {
    open,
    run,
    async click(body) {
      const element = await run<Record<string, string> | null>(body);
      if (!element) return false;
      return send('WebDriver:ElementClick', { id: element[ELEMENT] }).then(
        () => true,
        // it moved, or a message covers it
        (error: Error) => {
          if (/obscures|stale|not connected/.test(error.message)) return false;
          throw error;
        },
      );
    },
    async openTab(address) {
      const { value: before } = (await send('WebDriver:GetWindowHandle', {})) as { value: string };
      const { handle } = (await send('WebDriver:NewWindow', { type: 'tab' })) as { handle: string };
      await send('WebDriver:SwitchToWindow', { handle });
      await open(address);
      return async () => void (await send('WebDriver:SwitchToWindow', { handle: before }));
    },
    async type(keys) {
      const actions = [...keys].flatMap(value => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]);
      await send('WebDriver:PerformActions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
    },
  };
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}

/** @returns what sends a command and resolves with its result */
async function createConnection(port: number) {
  const socket = connect(port, '127.0.0.1');
  let buffer = Buffer.alloc(0);
  let id = 0;
  const waiting = new Map<number, (message: [number, number, { message?: string } | null, unknown]) => void>();
  const greeted = new Promise<void>(resolve => {
    waiting.set(-1, () => resolve());
  });
  socket.on('error', () => {});
  socket.on('data', piece => {
    buffer = Buffer.concat([buffer, piece]);
    for (;;) {
      const colon = buffer.indexOf(':');
      const length = Number(buffer.subarray(0, colon).toString());
      if (colon < 0 || buffer.length < colon + 1 + length) return;
      const message: unknown = JSON.parse(buffer.subarray(colon + 1, colon + 1 + length).toString());
      buffer = buffer.subarray(colon + 1 + length);
      const key = Array.isArray(message) ? (message[1] as number) : -1; // a greeting comes first
      waiting.get(key)?.(message as never);
      waiting.delete(key);
    }
  });
  await greeted;
  return (name: string, parameters: object): Promise<unknown> => {
    const own = ++id;
    const text = JSON.stringify([0, own, name, parameters]);
    socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => {
      waiting.set(own, ([, , error, result]) => (error ? reject(new Error(error.message)) : resolve(result)));
    });
  };
}
