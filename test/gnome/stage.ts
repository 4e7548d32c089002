// The panel on a stage: its desktop, a scripted daemon, and what a person does with eyes and keyboard.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { createDaemon, type FakeDaemon } from './daemon.ts';
import { type Ask, type Desktop, openDesktop, type Running, startDriver, until } from './desktop.ts';

/** Seen over AT-SPI. */
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
  find(name: string, ms?: number): Promise<Control>;
  /** The switch of that name, and not its row. */
  toggle(name: string): Promise<Control>;
  press(name: string): Promise<unknown>;
  /** With the mouse, for what takes no press from a screen reader. */
  click(name: string): Promise<void>;
  gone(name: string): Promise<unknown>;
  names(): Promise<string[]>;
  x(...args: string[]): string;
  window(): string;
  /** Pressed in the main window, such as `ctrl+t`. */
  key(chord: string): void;
  /** Waits until that many actions were asked for. */
  acted(count: number): Promise<void>;
  /** Waits until that many other mutations were. */
  asked(count: number): Promise<void>;
}

/** Starts the panel; the daemon listens only once the test says so. */
export async function openStage(): Promise<Stage> {
  const desktop = await openDesktop();
  const daemon = createDaemon(desktop.socket);
  const ask = startDriver(desktop, 'driver.py');
  // the accessibility bus starts on first use; a window that comes up meanwhile may miss it
  await ask({ do: 'names' });
  const panel = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'panel.js')]);
  const x = (...args: string[]) => execFileSync('xdotool', args, { env: desktop.env, encoding: 'utf8' }).trim();
  const window = (tries = 5): string => {
    try {
      return x('search', '--onlyvisible', '--name', '^Culvert$').split('\n').at(-1)!;
    } catch (error) {
      // it stumbles over another window that goes away meanwhile
      if (tries === 0) throw error;
      return window(tries - 1);
    }
  };
  return {
    ...{ desktop, daemon, panel, ask, x, window: () => window() },
    find: (name, ms) => ask({ do: 'find', name, ms }) as Promise<Control>,
    toggle: name => ask({ do: 'switch', name }) as Promise<Control>,
    press: name => ask({ do: 'press', name }),
    async click(name) {
      // without a window manager every window stands in the screen's corner
      const [left, top, width, height] = (await ask({ do: 'place', name })) as [number, number, number, number];
      x('mousemove', String(left + width / 2), String(top + height / 2), 'click', '1');
    },
    gone: name => ask({ do: 'gone', name }),
    names: () => ask({ do: 'names' }) as Promise<string[]>,
    key(chord) {
      x('windowfocus', '--sync', window());
      x('key', '--clearmodifiers', chord);
    },
    acted: count => until(`${count} actions`, () => daemon.actions.length === count),
    asked: count => until(`${count} requests`, () => daemon.asked.length === count),
  };
}
