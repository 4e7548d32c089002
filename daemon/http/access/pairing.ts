// Devices on other machines that may use the page: paired with a one-time code, known by a cookie, listed and revoked.
import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod/mini';
import type { PairCode, Device as ShownDevice } from '../../api/schema/pairing.ts';
import { Problem } from '../../problem.ts';
import { readText, replaceFile } from '../../system/files.ts';
import { message } from '../../view/message.ts';

/** Rights of a request: `read` is GET and HEAD only. */
export type Rights = 'manage' | 'read';

const COOKIE = 'culvert-device';
const CODE_MS = 5 * 60_000;
/** 50 bits in 10 letters, leaving out letters that look alike. */
const LETTERS = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
/** A code is withdrawn after so many wrong ones: a guess succeeds with a probability below 10 in 2^50. */
const WRONG_CODES = 10;
const WRONG_CODE_MS = 1_000;
/** Guesses that may wait for their turn. */
const WAITING = 16;
const DEVICES = 50;
const LIFETIME_S = 90 * 24 * 3600;

const Stored = z.object({
  id: z.string(),
  name: z.string(),
  manage: z.boolean(),
  pairedAt: z.string(),
  /** SHA-256 of the cookie's secret, in hex. */
  secret: z.string(),
});
type Stored = z.infer<typeof Stored>;

export interface Pairing {
  /** Makes a code, in place of the one before. @param manage whether the device may change things */
  createCode(manage: boolean): PairCode;
  /**
   * Pairs the device that gives the right code. A wrong one is answered late.
   * @param from the device's address, for the log
   * @returns the device, and the value of the `Set-Cookie` header that it is known by
   * @throws Problem pairing-code-wrong, busy
   */
  pair(code: string, name: string, from: string): Promise<{ device: ShownDevice; cookie: string }>;
  /** Rights of the sender of this `Cookie` header; null without any. */
  rightsOf(cookie: string | undefined): Rights | null;
  list(): ShownDevice[];
  /** @throws Problem device-not-found */
  revoke(id: string): void;
}

export interface PairingOptions {
  /** File of the paired devices; 0600. */
  path: string;
  say(line: string): void;
  /** After each change of the devices; after a revocation, connections that the device has open are to be closed. */
  onChange(what: 'paired' | 'revoked'): void;
  /** ms since the epoch. */
  now?: () => number;
  wrongCodeMs?: number;
}

/** @throws Error when the file of devices is not one */
export function createPairing({
  path,
  say,
  onChange,
  now = Date.now,
  wrongCodeMs = WRONG_CODE_MS,
}: PairingOptions): Pairing {
  let devices = readDevices(path);
  let open: { hash: Buffer; manage: boolean; expires: number; wrong: number } | null = null;
  let queue: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  const save = (changed: Stored[]) => {
    replaceFile(path, `${JSON.stringify({ devices: changed }, null, 2)}\n`);
    devices = changed;
  };

  /** One guess after the other, so that guessing from many connections gains nothing. */
  async function judge(code: string, from: string): Promise<{ manage: boolean }> {
    if (open && open.expires <= now()) open = null;
    const given = sha256(code.toUpperCase().replace(/[^0-9A-Z]/g, ''));
    if (open && timingSafeEqual(given, open.hash)) {
      const { manage } = open;
      open = null;
      return { manage };
    }
    if (open) {
      open.wrong += 1;
      say(`A wrong pairing code came from ${from} (${open.wrong} of ${WRONG_CODES}).`);
      if (open.wrong >= WRONG_CODES) {
        open = null;
        say('The pairing code is withdrawn after too many wrong ones. Make another with: culvert web --pair');
      }
    }
    await delay(wrongCodeMs);
    throw new Problem('pairing-code-wrong', 'This code is wrong, was used already, or is older than five minutes.', {
      hint: 'Make a new one on the machine of the daemon: culvert web --pair',
    });
  }

  return {
    createCode(manage) {
      const code = Array.from({ length: 10 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
      open = { hash: sha256(code), manage, expires: now() + CODE_MS, wrong: 0 };
      return { code: `${code.slice(0, 5)}-${code.slice(5)}`, manage, expiresAt: new Date(open.expires).toISOString() };
    },
    async pair(code, name, from) {
      if (waiting >= WAITING) throw new Problem('busy', message('Too many devices are giving codes at once.'));
      waiting += 1;
      const judged = queue.then(() => judge(code, from)).finally(() => (waiting -= 1));
      queue = judged.catch(() => {});
      const { manage } = await judged;
      const secret = randomBytes(32).toString('base64url');
      const id = randomBytes(6).toString('hex');
      const pairedAt = new Date(now()).toISOString();
      const device = { id, name, manage, pairedAt, secret: sha256(secret).toString('hex') };
      save([...devices.slice(-(DEVICES - 1)), device]);
      say(`The device "${name}" at ${from} was paired${manage ? ' and may change things' : ', to read only'}.`);
      onChange('paired');
      const cookie = `${COOKIE}=${id}.${secret}; Max-Age=${LIFETIME_S}; Path=/; HttpOnly; SameSite=Strict`;
      return { device: shown(device), cookie };
    },
    rightsOf(header) {
      const match = new RegExp(`(?:^|;\\s*)${COOKIE}=([0-9a-f]{12})\\.([\\w-]{43})(?:;|$)`).exec(header ?? '');
      if (!match) return null;
      const device = devices.find(({ id }) => id === match[1]);
      if (!device || Date.parse(device.pairedAt) + LIFETIME_S * 1000 <= now()) return null;
      if (!timingSafeEqual(sha256(match[2]!), Buffer.from(device.secret, 'hex'))) return null;
      return device.manage ? 'manage' : 'read';
    },
    list: () => devices.map(shown),
    revoke(id) {
      if (!devices.some(device => device.id === id))
        throw new Problem('device-not-found', 'No device of this id is paired.', { hint: 'See: culvert web devices' });
      save(devices.filter(device => device.id !== id));
      onChange('revoked');
    },
  };
}

function shown({ secret: _, ...device }: Stored): ShownDevice {
  return device;
}

function readDevices(path: string): Stored[] {
  const text = readText(path);
  if (text === null) return [];
  try {
    return z.parse(z.object({ devices: z.array(Stored) }), JSON.parse(text)).devices;
  } catch (error) {
    throw new Error(`${path} does not hold the paired devices. Delete it, and pair them again.`, { cause: error });
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
