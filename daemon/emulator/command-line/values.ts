// Defines the grammars of typed arguments, with the words in which the tunnel CLI refuses a value.
import { isIP } from 'node:net';
import type { Argument } from './grammar.ts';

/** @returns why the value is refused, or null when it is fine */
export function formatProblem(format: Argument['format'], value: string): string | null {
  switch (format) {
    case 'ip':
      return isIP(value) ? null : 'invalid IP address syntax';
    case 'range':
      return isRange(value) ? null : 'invalid IP address syntax';
    case 'endpoint':
      return isEndpoint(value) ? null : 'invalid socket address syntax';
    case 'port':
      return numberProblem(value, 65535);
    case 'number':
      return numberProblem(value, 4294967295);
    default:
      return null;
  }
}

function isRange(value: string): boolean {
  const [address = '', length, ...more] = value.split('/');
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1;
  return more.length === 0 && length !== undefined && /^\d{1,3}$/.test(length) && Number(length) <= bits;
}

function isEndpoint(value: string): boolean {
  const [, v6, v4, port] = value.match(/^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/) ?? [];
  return (isIP(v6 ?? '') === 6 || isIP(v4 ?? '') === 4) && Number(port) <= 65535;
}

function numberProblem(value: string, most: number): string | null {
  if (value === '') return 'cannot parse integer from empty string';
  if (!/^\+?\d+$/.test(value)) return 'invalid digit found in string';
  return Number(value) <= most ? null : `${value} is not in 0..=${most}`;
}
