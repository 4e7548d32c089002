// Lazy facade of the doctor: loads the checks on first use, and when the tunnel fails or carries nothing.
import { readFileSync } from 'node:fs';
import type { DoctorControl, FeatureContext } from '../controls.ts';
import type { Published } from '../state/store.ts';
import type { DoctorService } from './doctor-service.ts';

/** A tunnel that connects goes through `unable` for moments. */
const UNABLE_MS = 3_000;
/** Enough for the first requests of programs that waited for the tunnel. */
const CONNECTED_MS = 15_000;
/** Bytes that a tunnel sends without an answer before it counts as carrying nothing. */
const UNANSWERED_BYTES = 2_000;
const STATISTICS = '/sys/class/net/CloudflareWARP/statistics';

/** @param root a directory that stands for `/` @param delays in milliseconds, for tests */
export function createDoctor(
  context: FeatureContext,
  { root = '', unableMs = UNABLE_MS, connectedMs = CONNECTED_MS } = {},
): DoctorControl {
  const { state } = context;
  let loading: Promise<DoctorService> | undefined;
  const open = async () => (await import('./doctor-service.ts')).createDoctorService(context);
  const load = () => (loading ??= open());
  let timer: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};
  /** Counts states, so that a diagnosis of an earlier one is not published. */
  let generation = 0;

  function onEvent({ event }: Published): void {
    if (event !== 'status') return;
    clearTimeout(timer);
    generation += 1;
    const { state: now, blocked, reason } = state.snapshot().status;
    // it took some seconds to find out
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

  /** Once for each state that fails. */
  function diagnose(): void {
    const asked = generation;
    void load()
      .then(doctor => doctor.diagnose())
      .then(diagnosis => {
        if (asked === generation) state.set('diagnosis', diagnosis);
      })
      .catch((error: Error) => context.say(`The cause could not be looked for: ${error.message}`));
  }

  return {
    start() {
      unsubscribe = state.subscribe(onEvent);
      onEvent({ revision: 0, event: 'status', data: null });
    },
    async stop() {
      clearTimeout(timer);
      unsubscribe();
      (await loading)?.stop();
    },
    run: async request => (await load()).run(request),
    fix: async request => (await load()).fix(request),
    undo: async () => (await load()).undo(),
    bundle: async (entries, read) => (await load()).bundle(entries, read),
  };
}

/** Reports whether the tunnel's interface has sent packets and never received any. */
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
