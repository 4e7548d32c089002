// Builds entries of the argument table: leaves, lists that can be edited, settings that can be overridden.
import type { Argument, Command } from '../command-line/grammar.ts';

export const SWITCH = [{ name: 'ENABLED', values: [{ name: 'enable' }, { name: 'disable' }] }];
const CONSUMER = '2026.3.846';
export const consumer = (text: string): [string, string][] => [
  ['0', text],
  [CONSUMER, `${text} (Consumer only)`],
];
export const ruled = (text: string): [string, string][] => [
  ['0', `${text} (disabled for Zero Trust customers)`],
  [CONSUMER, `${text} (Consumer only)`],
];
export const leaf = (name: string, about: Command['about'] = '', ...args: Argument[]): Command =>
  args.length ? { name, about, args } : { name, about };
export const listOf = (value: string): Command[] => [
  leaf('list'),
  leaf('add', '', { name: value }),
  leaf('remove', '', { name: value }),
  leaf('reset'),
];
export const overridable = (...args: Argument[]): Command[] => [
  leaf('set', 'Set an override', ...args),
  leaf('reset', 'Remove any configured override'),
];
