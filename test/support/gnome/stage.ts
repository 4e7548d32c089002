// The panel on a stage: its desktop, a scripted daemon, and what a person does with eyes and keyboard.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { PageName } from '../../../daemon/view/page-list.ts';
import { until } from '../until.ts';
import { createDaemon, type FakeDaemon } from './daemon.ts';
import { type Ask, type Desktop, openDesktop, type Running, talk } from './desktop.ts';

export interface Control {
  name: string;
  sensitive: boolean;
  checked: boolean;
  focused: boolean;
}

export interface Stage {
  desktop: Desktop;
  daemon: FakeDaemon;
  panel: Running;
  ask: Ask;
  /** Waits until something of that name or text is on screen. */
  find(name: string): Promise<Control>;
  /** The switch or check mark of that name. */
  toggle(name: string): Promise<Control>;
  /** Presses the control of that name once it is there and sensitive. */
  press(name: string): Promise<unknown>;
  /** With the mouse. */
  click(name: string): Promise<void>;
  /** Replaces the text of an entry. */
  enter(name: string, text: string): Promise<unknown>;
  /** Turns the window to a page, once it shows what the daemon sent. */
  turn(page: PageName): Promise<unknown>;
  /** Waits until nothing of that name is on screen. */
  gone(name: string): Promise<unknown>;
  names(): Promise<string[]>;
  /** Waits until a name or text on screen holds this. */
  shows(part: string): Promise<void>;
  /** Waits until the window shows all that the daemon has sent. */
  settled(): Promise<unknown>;
  x(...args: string[]): string;
  window(): string;
  /** Pressed in the main window, such as `ctrl+t`. */
  key(chord: string): void;
  /** Waits until that many actions were asked for. */
  acted(count: number): Promise<void>;
  /** Waits until that many other mutations were. */
  asked(count: number): Promise<void>;
}

/** Starts the panel with the driver inside; the daemon listens only once the test says so. */
export async function openStage(): Promise<Stage> {
  const desktop = await openDesktop();
  const daemon = createDaemon(desktop.socket);
  const panel = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'inside.js')]);
  return stageOf(desktop, daemon, panel, talk(panel));
}

/** Ends a stage. Fails where GTK or GJS complained, except of what `harmless` matches. */
export async function closeStage(
  { desktop, daemon, panel }: Pick<Stage, 'desktop' | 'daemon' | 'panel'>,
  harmless = /$^/,
): Promise<void> {
  const said = panel
    .output()
    .split('\n')
    .filter(line => !harmless.test(line));
  await desktop.close();
  await daemon.stop();
  assert.deepEqual(
    said.filter(line => /CRITICAL|JS ERROR|WARNING/.test(line)),
    [],
    said.join('\n'),
  );
}

/** @param ask sends a request to the driver inside the panel. */
export function stageOf(desktop: Desktop, daemon: FakeDaemon, panel: Running, ask: Ask): Stage {
  const x = (...args: string[]) => execFileSync('xdotool', args, { env: desktop.env, encoding: 'utf8' }).trim();
  const window = (tries = 5): string => {
    try {
      return x('search', '--onlyvisible', '--name', '^Culvert$').split('\n').at(-1)!;
    } catch (error) {
      // it fails when any window closes during the search
      if (tries === 0) throw error;
      return window(tries - 1);
    }
  };
  const names = () => ask({ do: 'names' }) as Promise<string[]>;
  return {
    desktop,
    daemon,
    panel,
    ask,
    x,
    window: () => window(),
    find: name => ask({ do: 'find', name }) as Promise<Control>,
    toggle: name => ask({ do: 'switch', name }) as Promise<Control>,
    press: name => ask({ do: 'press', name }),
    async click(name) {
      await ask({ do: 'find', name });
      // without a window manager every window is in the screen's corner
      const [left, top, width, height] = (await ask({ do: 'place', name })) as [number, number, number, number];
      x('mousemove', String(left + width / 2), String(top + height / 2), 'click', '1');
    },
    enter: (name, text) => ask({ do: 'enter', name, text }),
    async turn(name) {
      await ask({ do: 'settle', revision: daemon.revision() });
      return ask({ do: 'turn', name });
    },
    gone: name => ask({ do: 'gone', name }),
    names,
    shows: async part => void (await until(async () => (await names()).some(name => name.includes(part)), part)),
    settled: () => ask({ do: 'settle', revision: daemon.revision() }),
    key(chord) {
      x('windowfocus', '--sync', window());
      x('key', '--clearmodifiers', chord);
    },
    acted: async count => void (await until(() => daemon.actions.length === count, `${count} actions`)),
    asked: async count => void (await until(() => daemon.asked.length === count, `${count} requests`)),
  };
}
