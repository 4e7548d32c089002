// Lists the events of a client that shows the state without the statistics of the connection.
import type { EventName } from '../daemon/api/contract.ts';

export const STATE_EVENTS: readonly EventName[] = [
  'snapshot',
  'gap',
  'status',
  'settings',
  'options',
  'account',
  'tunnelCli',
  'killSwitch',
  'config',
  'update',
  'diagnosis',
  'changes',
  'reminder',
  'lastPause',
];
