// Implements the bus methods: checks the arguments and sends requests to the daemon.
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { ACTIONS, MODES, type TunnelSubject } from '../../daemon/api/actions.ts';
import type { ChangeOptions, Subject } from '../../daemon/api/changes.ts';
import type { EventName } from '../../daemon/api/contract.ts';
import type { Mode } from '../../daemon/api/schema.ts';
import { current } from '../../daemon/view/client/client-state.ts';
import type { Model } from '../../daemon/view/client/model.ts';
import { askAboutChange } from '../../daemon/view/client/requests.ts';
import type { Command } from '../../daemon/view/form.ts';
import { placeOf } from '../../daemon/view/page-list.ts';
import { describeUnconfirmed, isPause } from '../../daemon/view/states/changes.ts';
import { describeTunnel } from '../../daemon/view/states/tunnel.ts';
import { tr } from '../i18n.ts';
import { APP_ID, APP_PATH } from '../install-paths.ts';
import { failure } from './failures.ts';

/** Maximum durations, in seconds, as in the API. */
const MAX_SECONDS = { forSeconds: 604_800, confirmWithin: 600 };
/** Maps the names of options on the bus to the API's names. */
const OPTIONS: Readonly<Record<string, keyof typeof MAX_SECONDS>> = {
  for: 'forSeconds',
  'confirm-within': 'confirmWithin',
};

/** Longest wait for a reverted value, in ms; shorter than the time limit of a call. */
const SETTLE_MS = 8000;
/** Events that carry the reverted values, by subject, for the subjects that are properties on the bus. */
const SHOWN_BY: Readonly<Record<string, readonly EventName[]>> = {
  connection: ACTIONS.connect.shows,
  mode: ACTIONS.setMode.shows,
  killSwitch: ['killSwitch'],
};

type Values = Record<string, unknown>;

/** Creates the methods by name. Each method takes plain values, and resolves when the properties show its effect. */
export function createMethods(
  model: Model,
  bus: Gio.DBusConnection,
): Record<string, (args: unknown[]) => Promise<void>> {
  const openWindow = windowOpener(bus);
  const state = () => current(model.state())?.status.state;
  const paused = () => current(model.state())?.changes.some(isPause) === true;
  const reverts = (subject: TunnelSubject) =>
    current(model.state())?.changes.some(change => change.subject === subject) === true;
  const running = () => {
    if (model.state().offline) throw failure('NotRunning', tr._('Culvert’s background service isn’t running.'));
  };
  const unconfirmed = () => {
    running();
    const change = describeUnconfirmed(model.state(), tr);
    if (!change) throw failure('NothingPending', tr._('No change is waiting.'));
    return change.subjects;
  };
  /** Reverts changes; resolves when the reverted values have arrived, which is after the reply. */
  const revert = async (subjects: readonly Subject[]) => {
    const awaited = new Set<string>(subjects.flatMap(subject => SHOWN_BY[subject] ?? []));
    let arrived = () => {};
    const effect = new Promise<boolean>(resolve => {
      arrived = () => resolve(true);
    });
    const end = model.onEvent(({ event }) => {
      awaited.delete(event);
      if (awaited.size === 0 || event === 'snapshot') arrived();
    });
    let timer: ReturnType<typeof setTimeout> | null = null;
    try {
      await askAboutChange(model, { kind: 'change', what: 'revert', subjects });
      const late = new Promise<boolean>(resolve => {
        timer = setTimeout(() => resolve(false), SETTLE_MS);
      });
      if (awaited.size > 0 && !(await Promise.race([effect, late]))) await model.refresh('all');
    } finally {
      if (timer) clearTimeout(timer);
      end();
    }
  };

  /** Runs a command; opens the window if only the window can run the command or ask its question. */
  const help = async ({ ask, confirm }: Command, platformData: Values) => {
    if (confirm) await openWindow(null, platformData);
    else if (ask.kind === 'action') await model.requestAction(ask.request);
    else if (ask.kind === 'kill-switch') await model.changeKillSwitch(ask.change);
    else if (ask.kind === 'extend' || ask.kind === 'change') await askAboutChange(model, ask);
    else await openWindow(ask.kind === 'page' ? ask.page : null, platformData);
  };

  return {
    // skip a request that changes nothing, because no event would follow, unless it keeps a value that would revert
    async Connect() {
      if (state() !== 'connected' || reverts('connection')) await model.requestAction({ action: 'connect' });
    },
    async Disconnect() {
      if (state() !== 'disconnected' || reverts('connection')) await model.requestAction({ action: 'disconnect' });
    },
    async Pause([seconds]) {
      await model.requestAction({
        action: 'disconnect',
        forSeconds: secondsOf(seconds, 'seconds', MAX_SECONDS.forSeconds),
      });
    },
    async Resume() {
      running();
      if (!paused()) throw failure('NothingPending', tr._('No change is waiting.'));
      await revert(['connection']);
    },
    async SetMode([mode, options]) {
      const value = MODES.find(name => name === mode);
      if (!value) throw failure('UnknownMode', `“${mode}” is not one of ${MODES.join(', ')}.`);
      const limits = optionsOf(options as Values, ['for', 'confirm-within']);
      if (current(model.state())?.settings.Mode !== (value satisfies Mode) || reverts('mode'))
        await model.requestAction({ action: 'setMode', value, ...limits });
    },
    async SetKillSwitch([enabled, options]) {
      const { confirmWithin } = optionsOf(options as Values, ['confirm-within']);
      const { allowLan = false } = current(model.state())?.killSwitch ?? {};
      const change = { enabled: enabled === true, allowLan };
      await model.changeKillSwitch(confirmWithin === undefined ? change : { ...change, confirmWithin });
    },
    Keep: async () => askAboutChange(model, { kind: 'change', what: 'confirm', subjects: unconfirmed() }),
    Revert: async () => revert(unconfirmed()),
    async Remedy([platformData]) {
      const { remedy } = describeTunnel(model.state(), tr);
      if (!remedy) throw failure('NothingPending', 'Nothing needs a remedy now.');
      await help(remedy.command, platformData as Values);
    },
    async Refresh() {
      // not refresh(), which returns early during another refresh; the changes arrive as events
      await model.call('GET /api/snapshot');
    },
    async Open([page, platformData]) {
      if (page !== '' && !placeOf(String(page))) throw failure('UnknownPage', `There is no page “${page}”.`);
      await openWindow(page === '' ? null : String(page), platformData as Values);
    },
  };
}

/** @throws Failure InvalidArgument for an option that the method lacks, or a value out of range */
function optionsOf(options: Values, names: readonly string[]): ChangeOptions {
  const limits: ChangeOptions = {};
  for (const [name, value] of Object.entries(options)) {
    const key = names.includes(name) ? OPTIONS[name] : undefined;
    if (!key) throw failure('InvalidArgument', `There is no option “${name}”; expected ${names.join(' or ')}.`);
    limits[key] = secondsOf(value, name, MAX_SECONDS[key]);
  }
  return limits;
}

function secondsOf(value: unknown, name: string, longest: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= longest) return value;
  throw failure('InvalidArgument', `${name}: expected a number of seconds from 1 to ${longest}.`);
}

const APPLICATION = 'org.freedesktop.Application';

/**
 * Returns a function that opens the window, optionally at a page. The bus starts the window, since a program that the
 * bridge starts itself would end with the bridge's unit.
 */
function windowOpener(bus: Gio.DBusConnection) {
  /** @throws Failure when the bus can't start the window */
  return async (page: string | null, platformData: Values): Promise<void> => {
    const texts = Object.entries(platformData).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, new GLib.Variant('s', value)] as const] : [],
    );
    const platform = Object.fromEntries(texts);
    const [method, args] =
      page === null
        ? ['Activate', new GLib.Variant('(a{sv})', [platform])]
        : ['ActivateAction', new GLib.Variant('(sava{sv})', [page, [], platform])];
    try {
      await bus.call(APP_ID, APP_PATH, APPLICATION, method, args, null, 0, -1, null);
    } catch (error) {
      const reason = (error as GLib.Error).message.replace(/^GDBus\.Error:[\w.]+: /, '');
      throw failure('Failed', `The window can’t be opened: ${reason}.`, error);
    }
  };
}
