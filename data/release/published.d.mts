export function addressOf(source: string, release: { version: string; channel: string }, name: string): string;
export function minisignKey(key: string): string;
export function validKeys(pinned: readonly { key: string; revoked?: boolean }[]): string[];
