// Defines and parses the state that the root service publishes, and defines the sign-in socket and the ends of a sign-in.
import { type Message, N_ } from './wording.ts';

export const BUS_NAME = 'org.culvert.KillSwitch1';
export const OBJECT_PATH = '/org/culvert/KillSwitch1';
/** Directory and file of the published state. */
export const RUN_DIRECTORY = '/run/culvert-killswitch';
export const STATE_FILE = 'state.json';

// the boot guard publishes this sentence before anything else runs (data/killswitch/guard.in)
N_('The kill switch is on, but the packet filter loaded no rules at boot: NOTHING IS BLOCKED. Is nftables installed?');

export type Protection = 'owner-persist' | 'watchdog' | 'none';

export interface Report {
  /** True if the kill switch should be on, even during a pause or while the stored settings can't be read. */
  enabled: boolean;
  allowLan: boolean;
  /** Measured in the kernel; null when the kernel did not answer. */
  active: boolean | null;
  protection: Protection;
  bootGuard: boolean;
  backend: string | null;
  detail: string | null;
  /** `detail` for translation; empty without a detail, and in reports of an older service. */
  wording: Message[];
  pausedUntil: string | null;
  /** Time of the last repair after another program's change, since the kill switch was set. */
  repairedAt: string | null;
  /** True if the service can revert changes that are not confirmed; older services can't. */
  confirmable: boolean;
  /** The unconfirmed change; null if no change waits for confirmation. */
  unconfirmed: Unconfirmed | null;
}

export interface Unconfirmed {
  setAt: string;
  /** Time at which `previous` returns unless the change is confirmed. */
  confirmBy: string;
  previous: { enabled: boolean; allowLan: boolean };
}

/** A report and its process. A report of a dead process may be out of date. */
export interface Published extends Report {
  version: 1;
  /** null after the service has ended normally, with nothing to guard. */
  pid: number | null;
  /** Start time of the process, field 22 of /proc/PID/stat. */
  startTime: string | null;
}

/** @returns null for anything but a published state. */
export function parsePublished(text: string): Published | null {
  try {
    const value: unknown = JSON.parse(text);
    const report = parseReport(value);
    const { version, pid, startTime } = value as Partial<Published>;
    if (!report || version !== 1) return null;
    const isProcess = (pid === null || Number.isInteger(pid)) && isTextOrNull(startTime);
    return isProcess ? { ...report, version, pid: pid!, startTime } : null;
  } catch {
    return null;
  }
}

/** Returns the parts of a report, without other keys; null if a part is missing or has another type. */
export function parseReport(value: unknown): Report | null {
  if (typeof value !== 'object' || value === null) return null;
  const { enabled, allowLan, active, protection, bootGuard, backend, detail, pausedUntil } = value as {
    [K in keyof Report]?: unknown;
  };
  if (typeof enabled !== 'boolean' || typeof allowLan !== 'boolean' || typeof bootGuard !== 'boolean') return null;
  if ((active !== null && typeof active !== 'boolean') || !isProtection(protection)) return null;
  if (!isTextOrNull(backend) || !isTextOrNull(detail) || !isTextOrNull(pausedUntil)) return null;
  if (pausedUntil !== null && Number.isNaN(Date.parse(pausedUntil))) return null;
  // older services lack these fields
  const wording = parseWording((value as { wording?: unknown }).wording);
  const repairedAt = (value as { repairedAt?: unknown }).repairedAt;
  const confirmable = (value as { confirmable?: unknown }).confirmable === true;
  const unconfirmed = parseUnconfirmed((value as { unconfirmed?: unknown }).unconfirmed ?? null);
  if (unconfirmed === undefined) return null;
  const fields = { enabled, allowLan, active, protection, bootGuard, backend, detail, wording };
  return { ...fields, pausedUntil, repairedAt: isTime(repairedAt) ? repairedAt : null, confirmable, unconfirmed };
}

/** @returns an empty list for any other value: the report also has the English sentence */
function parseWording(value: unknown): Message[] {
  return Array.isArray(value) && value.every(isMessage) ? value : [];
}

function isMessage(value: unknown): value is Message {
  const { text, values } = (value ?? {}) as { text?: unknown; values?: unknown };
  return typeof text === 'string' && Array.isArray(values) && values.every(isMessageValue);
}

function isMessageValue(value: unknown): boolean {
  return typeof value === 'string' || Number.isSafeInteger(value) || isTime((value as { time?: unknown } | null)?.time);
}

/** @returns undefined if the value is malformed */
function parseUnconfirmed(value: unknown): Unconfirmed | null | undefined {
  if (value === null) return null;
  const { setAt, confirmBy, previous } = value as { [K in keyof Unconfirmed]?: unknown };
  const { enabled, allowLan } = (previous ?? {}) as { enabled?: unknown; allowLan?: unknown };
  if (!isTime(setAt) || !isTime(confirmBy)) return undefined;
  if (typeof enabled !== 'boolean' || typeof allowLan !== 'boolean') return undefined;
  return { setAt, confirmBy, previous: { enabled, allowLan } };
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isProtection(value: unknown): value is Protection {
  return value === 'owner-persist' || value === 'watchdog' || value === 'none';
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

/** Directory and file of the socket on which the helper listens for the user; systemd makes the directory. */
export const SIGN_IN_DIRECTORY = '/run/culvert-sign-in';

export const SIGN_IN_SOCKET = 'socket';

/**
 * Reasons for the end of a sign-in: its command ended it (`closed`), its time ran out (`time`), the `network` changed, the
 * `tunnel` came up, the kill switch was turned off or paused (`unblocked`), the screen was locked or another user is at the
 * screen (`away`), the user logged out (`logout`), the machine went to `sleep`, or the `helper` or the root `service` ended or
 * stopped responding.
 */
export const SIGN_IN_ENDS = [
  'closed',
  'time',
  'network',
  'tunnel',
  'unblocked',
  'away',
  'logout',
  'sleep',
  'helper',
  'service',
] as const;
export type SignInEnd = (typeof SIGN_IN_ENDS)[number];
