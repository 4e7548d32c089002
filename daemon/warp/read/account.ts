// Reads the registration of this device, with its devices.
import type { Account, Snapshot } from '../../api/schema.ts';
import { Problem } from '../../problem.ts';
import { blockedProblem } from '../cli/failures.ts';
import type { TunnelStore } from '../tunnel-store.ts';
import type { Reader } from './reader.ts';

/** @throws Problem when it can't be read; "not registered" is an answer */
export async function readAccount(reader: Reader, store: TunnelStore, snapshot: () => Snapshot): Promise<Account> {
  await reader.readLatest('registration');
  if (store.account()?.registration.registered) await reader.readLatest('devices');
  const shown = snapshot();
  const { status, commands } = shown;
  const account = store.account();
  // an earlier answer is worthless once nothing can be read
  if (status.blocked && status.blocked !== 'not-registered' && !(account && status.blocked === 'not-authorized'))
    throw blockedProblem(status.blocked, shown);
  if (account) {
    const stale = account.registration.registered ? reader.stale(['registration', 'devices']) : [];
    return { ok: true, ...account.registration, devices: account.devices, ...(stale.length ? { stale } : {}) };
  }
  const { exitCode = null, stderr = '' } = commands.registration ?? {};
  throw new Problem('tunnel-cli-failed', 'The tunnel CLI did not report the registration of this device.', {
    exitCode,
    stderr,
  });
}
