// Runs the bridge, which offers the daemon's state as org.culvert.Client1 on the session bus to the shells of all desktops and
// ends when no program uses it anymore. It loads no GTK, and runs no timer while a program uses it.
import Gio from 'gi://Gio?version=2.0';
import { current } from '../../daemon/view/client/client-state.ts';
import { createModel } from '../../daemon/view/client/model.ts';
import { collectWhenQuiet } from '../gc.ts';
import { tr } from '../i18n.ts';
import { CLIENT_NAME, socketPath } from '../install-paths.ts';
import { createTransport } from '../transport.ts';
import { absenceWatch } from './absence.ts';
import { createMethods } from './methods.ts';
import { exportObject } from './object.ts';
import { disownName, followState, ownName, type Program, runProgram, STATE_EVENTS } from './program.ts';
import { changesBetween, propertiesOf } from './properties.ts';

declare const __VERSION__: string;

/** Time limit for requests, in ms: by default, a D-Bus caller gives up after 25 s. */
const DEADLINE_MS = 20_000;
/** Pace of reconnecting: attempts become rare, since the bridge watches the socket, and a call tries immediately. */
const PACE = { backOffMs: [250, 86_400_000] as [number, number], idleTimeoutMs: Infinity };

/** Exit status after which the user unit restarts the bridge (data/culvert-bridge.service.in). */
const RESTART = 75;

async function serve(program: Program): Promise<void> {
  const bus = Gio.bus_get_sync(Gio.BusType.SESSION, null);
  const model = createModel(createTransport(socketPath(), DEADLINE_MS), PACE, [...STATE_EVENTS, 'tunnel', 'networks']);
  const properties = () => propertiesOf(model.state(), __VERSION__, tr);
  let shown = properties();

  const methods = createMethods(model, bus);
  const unused = () => void leave().catch(program.fail);
  const object = exportObject(bus, { properties, methods, retry: model.retry, unused });

  const own = async () => {
    if (await ownName(bus, CLIENT_NAME)) return;
    program.say(`another process owns ${CLIENT_NAME}.`);
    program.end();
  };
  /** Ends the bridge if no call has come. Releases the name first, so that a later call starts the next bridge. */
  const leave = async () => {
    const calls = object.calls();
    await disownName(bus, CLIENT_NAME);
    if (object.calls() === calls) program.end();
    else await own();
  };
  /** Ends the bridge with an exit status when all running calls are answered. */
  const giveWay = async (status: number) => {
    program.status = status;
    await disownName(bus, CLIENT_NAME);
    await object.answered();
    program.end();
  };
  const watchAbsence = absenceWatch(model.retry, () => void giveWay(0).catch(program.fail));
  /** Restarts the bridge if the daemon has another version, as after an update. */
  const followUpdate = async () => {
    const { version } = await model.call('GET /api/version');
    if (version !== __VERSION__) await giveWay(RESTART);
  };

  /** True while a daemon answers; null until the first answer. */
  let online: boolean | null = null;
  let ready = () => {};
  const isKnown = new Promise<void>(resolve => {
    ready = resolve;
  });
  // a caller needs no notice of a change that it requested
  followState(
    model,
    ({ pending }) => pending,
    (state, notice) => {
      const next = properties();
      const changes = changesBetween(shown, next);
      shown = next;
      if (changes) object.changed(changes);
      if (notice) object.notice(notice.code, notice.summary, { body: notice.body });
      // statistics of the connection are read only for a program that shows them
      if (changes?.State === 'connected') void model.refresh('stale');
      const isOnline = current(state) !== null;
      if (isOnline && online === false) followUpdate().catch(() => {});
      if (isOnline || online) online = isOnline;
      watchAbsence(state);
      if (state.offline ? state.offline.code !== 'starting' : state.config) ready();
      collectWhenQuiet();
    },
  );
  // so that the first caller does not see "unknown" while a daemon runs
  await isKnown;
  await own();
}

runProgram('bridge', serve);
