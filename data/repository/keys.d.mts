import type { KeyObject } from 'node:crypto';
import type { Public, Signer } from './openpgp.d.mts';

export const LIFETIME: number;
export function rawKey(key: KeyObject): Buffer;
export interface Certified extends Public {
  name: string;
  expires: string;
  fingerprint: string;
  certificate: Buffer;
}
export function certified(project?: unknown): Certified[];
export function commandSigner(command: string): Signer;
