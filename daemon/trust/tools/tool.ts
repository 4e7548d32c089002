// Defines a row of the table of tools, and the parameters of its functions.
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Message } from '../../api/values.ts';
import type { SystemList } from '../lists.ts';
import type { Command, Target } from '../probe.ts';

/** Surroundings of a tool, and places of its settings. */
export interface Look {
  /** The environment of the next session: what runs now, with the variables that Culvert has set. */
  env: NodeJS.ProcessEnv;
  home: string;
  /** XDG_CONFIG_HOME. */
  config: string;
  /** A directory that stands for `/`, or empty. */
  root: string;
  system: SystemList | null;
  /** Output of a program that ended well; null otherwise. */
  ask(program: string, ...args: string[]): Promise<string | null>;
}

/** Places where a tool looks for authorities now. */
export interface List {
  /** Files that it reads. */
  files: string[];
  /** It has Mozilla's list besides. */
  ownList: boolean;
  /** Certificates of a store that is no file of them. */
  text?: string;
  /** Certificates that only some of its stores have. */
  someText?: string;
}

/** One of the two lists of Culvert. */
export type ListName = 'extra' | 'bundle';

/** A change that makes a tool trust the organization. */
export type Wanted =
  | { kind: 'variable'; name: string; list: ListName }
  /** Directories of NSS databases. */
  | { kind: 'nss'; directories: string[] }
  | {
      kind: 'setting';
      path: string;
      section: string | null;
      key: string;
      list: ListName;
      /** The line, for the path of the list. */
      line(path: string): string;
    };

export interface Tool {
  /** Stable: `node`. */
  id: string;
  title: string;
  /** Names of its program, the first that is there counts; empty for what is no program. */
  programs: readonly string[];
  /** Its list; null if the program is there and the tool is not. */
  list(program: string, look: Look): Promise<List | null>;
  /** A command that connects to an address and sends a request; without one, its list is only read. */
  connect?(target: Target, look: Look): Omit<Command, 'program' | 'env'> & { env?: NodeJS.ProcessEnv };
  /** Words that come first, for a tool that looks for the user's settings in more places than its environment names. */
  noSettings?: readonly string[];
  /** Has the same command use this file where it uses its list now. */
  instead?(file: string, list: List): Instead;
  /** The change; absent or null if this user can make none. */
  wanted?(look: Look, list: List): Wanted | null;
  /** Commands for an administrator. @param file holds a certificate @param name a word for it */
  administrator?(file: string, name: string, look: Look): string[];
  /** Advice where verification is off. */
  offHint: Message | null;
}

/** Part of a command that names a list. */
export interface Instead {
  env?: NodeJS.ProcessEnv;
  args?: readonly string[];
}

/** A program as PATH finds it; null if it does not. */
export function findProgram(names: readonly string[], env: NodeJS.ProcessEnv): string | null {
  const directories = (env.PATH ?? '').split(':').filter(path => path.startsWith('/'));
  for (const name of names)
    for (const directory of directories) {
      try {
        accessSync(join(directory, name), constants.X_OK);
        return join(directory, name);
      } catch {
        // not in this one
      }
    }
  return null;
}
