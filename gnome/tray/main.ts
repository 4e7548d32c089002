// The tray: an icon and a menu on the daemon's state, in a process without GTK that sleeps until an event comes.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { exit } from 'system';
import { collectWhenQuiet } from '../collect.ts';
import { _, followLocale, words } from '../i18n.ts';
import { describeKillSwitch, nextMinute } from '../killswitch-view.ts';
import { createModel } from '../model.ts';
import { socketPath, TRAY_NAME } from '../place.ts';
import { startDaemon } from '../start.ts';
import { createTransport } from '../transport.ts';
import { describe } from '../view.ts';
import { notify, openPanel, quitPanel, stopDaemon } from './desktop.ts';
import { loadIcons, type Pixmaps } from './icons.ts';
import { type Appearance, createItem } from './item.ts';
import { type Command, menuOf, type Shown, tooltipOf } from './menu.ts';

Gio._promisify(Gio.DBusConnection.prototype, 'call', 'call_finish');

const loop = GLib.MainLoop.new(null, false);
let exitCode = 0;

/** Runs once the name is ours: a second tray would show a second icon. */
function run(bus: Gio.DBusConnection): void {
  const model = createModel(createTransport(socketPath()));
  const icon = loadIcons();
  let drawn: { key: string; pixmaps: Pixmaps } | null = null;

  const appearance = (): Appearance => {
    const facts = model.facts();
    const view = describe(facts, words);
    const key = `${view.look} ${view.tone}`;
    if (drawn?.key !== key) drawn = { key, pixmaps: icon(view.look, view.tone) };
    const stopped = facts.loss?.code === 'not-running' || facts.loss?.code === 'stopped';
    const shown: Shown = { view, killSwitch: describeKillSwitch(facts, words), stopped, now: Date.now() };
    return { icon: drawn.pixmaps, tooltip: tooltipOf(shown, words), entries: menuOf(shown, words) };
  };
  const complain = (error: unknown) =>
    notify(bus, _('That did not work'), error instanceof Error ? error.message : String(error));
  const act = (command: Command) => {
    if (typeof command === 'object') {
      const { allowLan = false } = model.facts().snapshot?.killSwitch ?? {};
      const change = 'pause' in command ? { seconds: command.pause } : { enabled: command.killSwitch, allowLan };
      model.changeKillSwitch(change).catch(complain);
      return;
    }
    switch (command) {
      case 'connect':
      case 'disconnect':
        model.perform(command).catch(complain);
        break;
      case 'start':
        startDaemon(complain);
        model.retry();
        break;
      case 'open':
        void openPanel(bus, null).catch(complain);
        break;
      case 'quit':
        model.close();
        void quitPanel(bus)
          .then(stopDaemon)
          .catch(complain)
          .finally(() => loop.quit());
    }
  };

  const item = createItem(bus, appearance(), {
    activate: token => void openPanel(bus, token).catch(complain),
    secondary() {
      const { toggle } = describe(model.facts(), words);
      if (toggle.sensitive && toggle.action) act(toggle.action);
    },
    chosen: entry => entry.command && act(entry.command),
    hostless: () =>
      printerr(
        `culvert tray: ${_('This desktop shows no tray icons (GNOME needs the AppIndicator extension). Use the window.')}`,
      ),
  });
  let countdown: ReturnType<typeof setTimeout> | null = null;
  const show = () => {
    item.show(appearance());
    collectWhenQuiet(1000);
    // a pause counts down by the minute; otherwise nothing runs here
    if (countdown) clearTimeout(countdown);
    const until = model.facts().snapshot?.killSwitch.pausedUntil;
    const wait = until ? nextMinute(Date.parse(until), Date.now()) : null;
    countdown = wait === null ? null : setTimeout(show, wait);
  };
  model.subscribe(() => {
    followLocale(model.facts().config);
    show();
  });
  collectWhenQuiet(1000);
}

Gio.bus_own_name(
  Gio.BusType.SESSION,
  TRAY_NAME,
  Gio.BusNameOwnerFlags.DO_NOT_QUEUE,
  null,
  bus => {
    try {
      run(bus);
    } catch (error) {
      printerr(`culvert tray: ${(error as Error).message}`);
      exitCode = 1;
      loop.quit();
    }
  },
  bus => {
    if (bus) printerr(`culvert tray: ${_('A Culvert tray is already running.')}`);
    else printerr(`culvert tray: ${_('There is no session bus, so there is no tray.')}`);
    exitCode = bus ? 0 : 1;
    loop.quit();
  },
);
loop.run();
exit(exitCode);
