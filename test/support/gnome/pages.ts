// One desktop for all tests of a file.
import { after, before, beforeEach } from 'node:test';
import type { FakeDaemon } from './daemon.ts';
import { KILL_SWITCH, noUpdate } from './initial.ts';
import { closeStage, openStage, type Stage } from './stage.ts';

// set before the tests of `usePages`, for them
export let stage: Stage;
export let daemon: FakeDaemon;
/** The daemon's default answer to a request. */
export let succeed: FakeDaemon['onAsked'];

/**
 * Opens the panel before the tests of the suite that calls this, and closes it after them.
 * @param prepare acts before the daemon answers @param allowed warnings of GTK
 */
export function useStage(prepare: () => void, allowed: RegExp) {
  before(async () => {
    stage = await openStage();
    daemon = stage.daemon;
    succeed = daemon.onAsked;
    prepare();
    await daemon.listen();
    await stage.find('Disconnected');
  });
  after(() => closeStage(stage, allowed));
}

/** The same for tests of which each begins on the first page, with the daemon's first state. */
export function usePages() {
  // GTK 4.18 says so of an entry that is hidden with the focus, in a window that no window manager activates; and
  // libadwaita 1.5 and newer measure the large heading of a question also where only the small one has room
  useStage(() => {}, /did not receive a focus-out event|Trying to measure GtkLabel/);
  beforeEach(async () => {
    Object.assign(daemon, { onAsked: succeed, onAction: () => {}, asked: [], actions: [] });
    daemon.set('killSwitch', KILL_SWITCH);
    daemon.set('settings', { Mode: 'warp' });
    daemon.set('tunnel', { proxyPort: null });
    daemon.set('status', { state: 'disconnected', reason: null, blocked: null });
    daemon.setUpdate(noUpdate());
    await stage.turn('connection');
    await stage.find('Disconnected');
  });
  return {
    find: (name: string) => stage.find(name),
    press: (name: string) => stage.press(name),
    gone: (name: string) => stage.gone(name),
    type: (text: string) => stage.x('type', '--delay', '20', text),
    positions: async (name: string) => {
      const { checked, sensitive } = await stage.toggle(name);
      return [checked, sensitive];
    },
  };
}
