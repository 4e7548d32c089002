// Reads what this machine has of the organization: its certificates, the system's list, and what was changed for tools.
import { installedCertificates, type Place } from './certificates.ts';
import { systemList } from './lists.ts';
import { listCertificates } from './organization.ts';
import { ask } from './probe.ts';
import type { Look } from './tools/tool.ts';
import { type Session, variablesOf } from './write/environment.ts';
import { readJournal } from './write/journal.ts';

export interface Setting {
  session: Session;
  /** Place of the journal and the lists. */
  directory: string;
  isMember: boolean | null;
  place: Place;
}

export type Machine = ReturnType<typeof readMachine>;

export function readMachine({ directory, isMember, place }: Setting) {
  const journal = readJournal(directory);
  const { certificates, refused } = installedCertificates(place);
  const system = systemList(place.root);
  return { journal, refused, system, certificates: listCertificates({ certificates, journal, system, isMember }) };
}

export function hasValid({ certificates }: Machine): boolean {
  return certificates.some(({ state }) => state === 'valid');
}

/** True where tools still trust the organization, but no certificate of it is valid. */
export function isRemovalDue(machine: Machine): boolean {
  return !hasValid(machine) && Object.keys(machine.journal.tools).length > 0;
}

/** Surroundings of tools in the next session. */
export function lookOf({ session, place }: Setting, { journal, system }: Machine): Look {
  const { home, config, signal } = session;
  const env = { ...session.env, ...variablesOf(journal) };
  return {
    env,
    home,
    config,
    root: place.root,
    system,
    ask: async (program, ...args) => {
      const printed = await ask({ program, args, env }, signal);
      return printed?.code === 0 ? printed.stdout : null;
    },
  };
}
