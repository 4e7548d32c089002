// Answers requests for the doctor, and finds the cause if the tunnel fails or carries nothing.
import { readFileSync } from 'node:fs';
import type { FeatureContext, HistoryControl } from '../controls.ts';
import { type Feature, lazy } from '../feature.ts';
import type { CommandLog, Published } from '../state/store.ts';

/** Time before a diagnosis: a connecting tunnel is briefly `unable`. */
const UNABLE_MS = 3_000;
/** Time for the first requests of programs that waited for the tunnel. */
const CONNECTED_MS = 15_000;
/** Bytes sent without an answer, above which a tunnel counts as carrying nothing. */
const UNANSWERED_BYTES = 2_000;
const STATISTICS = '/sys/class/net/CloudflareWARP/statistics';

/**
 * @param sources sources of the bundle to share
 * @param root a directory that stands for `/`
 * @param delays in milliseconds, for tests
 */
export function openDoctor(
  context: FeatureContext,
  { log, history }: { log: Pick<CommandLog, 'since' | 'capacity'>; history: Pick<HistoryControl, 'read'> },
  { root = '', unableMs = UNABLE_MS, connectedMs = CONNECTED_MS } = {},
): Required<Feature<'doctor'>> {
  const { state } = context;
  const doctor = lazy(async () => (await import('./doctor-service.ts')).createDoctorService(context));
  let timer: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};
  /** Number of the state: a diagnosis of an earlier state is not published. */
  let generation = 0;

  function onEvent({ event }: Published): void {
    if (event !== 'status') return;
    clearTimeout(timer);
    generation += 1;
    const { state: now, blocked, reason } = state.snapshot().status;
    // no delay: the client took some seconds to report this
    if (reason?.code === 'ConnectIgnored') {
      diagnose();
      return;
    }
    if (blocked || now === 'disconnected' || now === 'disconnecting') {
      state.set('diagnosis', null);
      return;
    }
    if (now === 'unable') timer = setTimeout(diagnose, unableMs).unref();
    if (now === 'connected') {
      state.set('diagnosis', null);
      timer = setTimeout(() => carriesNothing(root) && diagnose(), connectedMs).unref();
    }
  }

  /** Diagnoses a failed state and publishes the cause. */
  function diagnose(): void {
    const asked = generation;
    void doctor()
      .then(loaded => loaded.diagnose())
      .then(diagnosis => {
        if (asked === generation) state.set('diagnosis', diagnosis);
      })
      .catch((error: Error) => context.say(`The cause could not be looked for: ${error.message}`));
  }

  return {
    handlers: {
      'POST /api/doctor': async ({ body }) => (await doctor()).run(body),
      'POST /api/doctor/fix': async ({ body }) => (await doctor()).fix(body),
      'POST /api/doctor/undo': async () => (await doctor()).undo(),
      'POST /api/doctor/bundle': async () => (await doctor()).bundle(log.since(0, log.capacity), history.read),
    },
    start() {
      unsubscribe = state.subscribe(onEvent);
      onEvent({ revision: 0, event: 'status', data: null });
    },
    async stop() {
      clearTimeout(timer);
      unsubscribe();
      (await doctor.loaded())?.stop();
    },
  };
}

/** Returns true if the tunnel's interface has sent data but never received any. */
function carriesNothing(root: string): boolean {
  try {
    const [sent, received] = ['tx_bytes', 'rx_bytes'].map(name =>
      Number(readFileSync(`${root}${STATISTICS}/${name}`, 'utf8')),
    );
    return received === 0 && (sent ?? 0) > UNANSWERED_BYTES;
  } catch {
    return false; // proxy and DNS modes create no interface
  }
}
