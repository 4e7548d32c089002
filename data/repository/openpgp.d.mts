import type { KeyObject } from 'node:crypto';

export interface Public {
  key: Buffer;
  created: number;
}
export type Signer = (bytes: Buffer) => Buffer;
export type Signing = Public & { signer: Signer };
export function fingerprint(key: Public): string;
export function certificate(key: Public, owner: string, expires: number, signer: Signer): Buffer;
export function detached(bytes: Buffer, keys: Signing[], time: number): Buffer;
export function clearsigned(text: string, keys: Signing[], time: number): string;
export function armored(what: 'SIGNATURE' | 'PUBLIC KEY BLOCK', packets: Buffer): string;
export function signerOf(key: KeyObject): Signer;
