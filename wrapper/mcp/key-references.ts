// Names the account that holds the key of an MCP server, in place of the key. Pure.

import { referenceIn } from '../store/key-texts.ts';

/** The form of a reference. No key of a provider has it. */
const REFERENCE = /^culvert-wrap:([^:]+):([^:]+)$/;

interface Reference {
  cli: string;
  name: string;
}

export function referenceTo({ cli, name }: Reference): string {
  return `culvert-wrap:${cli}:${name}`;
}

/** The account that a text refers to. */
export function accountIn(text: string): Reference | undefined {
  const [, cli, name] = REFERENCE.exec(text) ?? [];
  return cli === undefined || name === undefined ? undefined : { cli, name };
}

/** Reports whether a text can be a key: neither a variable of the client (`${NAME}`) nor a reference, ours or such as `op://`. */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text) && !text.includes('://') && referenceIn(text) === undefined;
}

/** An environment without the variables that hold a reference: a program would take one for a key. */
export function withoutReferences(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => accountIn(value ?? '') === undefined));
}
