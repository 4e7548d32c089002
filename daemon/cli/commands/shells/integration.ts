// Defines what the integration of each shell offers, and where it finds and puts files.
import { execFile } from 'node:child_process';
import { dirname, isAbsolute, join } from 'node:path';
import { userData } from '../../../apps/data-home.ts';
import { INSTALL_FORMAT } from '../../../system/build-info.ts';
import { prefix, programs, stablePrefix } from '../../../system/install-paths.ts';
import { paths } from '../../../system/paths.ts';
import type { Entry } from '../../../update/user/integration.ts';
import { quote } from '../../../view/fix.ts';
import { Failure } from '../../errors.ts';

const LIMIT_MS = 10_000;

export interface Integration {
  /** The word of the command line. */
  name: string;
  title: string;
  status(place: Place): Promise<Status>;
  /**
   * Installs it for this user, and turns it on.
   * @returns what was done and what is left to do, in sentences
   * @throws Failure
   */
  install(place: Place): Promise<string[]>;
  /** Turns it off, and removes what `install` wrote. @returns as `install`; empty if there was nothing to do */
  remove(place: Place): Promise<string[]>;
}

export interface Status {
  installed: boolean;
  on: boolean;
  /** Sentence on what is left to do; null for nothing. */
  note: string | null;
}

export interface Place {
  env: NodeJS.ProcessEnv;
  /** `<prefix>/share`, by the path that stays from version to version. */
  share: string;
  /** The file of the AppImage that runs: `share` is gone when it ends, and no bus knows its programs. */
  image: string | null;
  /** The desktop finds `share` without a link: it belongs to the system. */
  isSystem: boolean;
  /** `$XDG_DATA_HOME`. */
  data: string;
  /** `$XDG_CONFIG_HOME`. */
  config: string;
  /** Directory with a list of what was written for each shell. */
  records: string;
}

/** @throws Failure without a home */
export function placeOf(env: NodeJS.ProcessEnv): Place {
  const data = userData(env);
  if (!data) throw new Failure('Neither XDG_DATA_HOME nor HOME is set, so there is no place to install to.');
  const share = join(stablePrefix(prefix), 'share');
  const image = INSTALL_FORMAT === 'appimage' ? programs.culvert : null;
  return {
    env,
    share,
    image,
    isSystem: !image && systemData(env).some(directory => join(directory, '.') === join(share, '.')),
    data,
    config: dirname(dirname(paths(env).userConfig)),
    records: join(paths(env).state, 'shells'),
  };
}

/** Directories of data that the system has. */
export function systemData({ XDG_DATA_DIRS }: NodeJS.ProcessEnv): string[] {
  return (XDG_DATA_DIRS || '/usr/local/share:/usr/share').split(':').filter(isAbsolute);
}

/** Service files of an AppImage, with which the session bus starts its programs. */
export function imageServices({ data }: Place, image: string): Entry[] {
  const service = (name: string, words: string): Entry => ({
    path: join(data, 'dbus-1/services', `${name}.service`),
    text: `[D-BUS Service]\nName=${name}\nExec=${quote([image])} --bus-service ${words}\n`,
  });
  return [service('org.culvert.Client1', 'bridge'), service('org.culvert.Culvert', 'panel --gapplication-service')];
}

/** Output of a program; null if it failed or is not there. */
export function output(program: string, words: string[], env: NodeJS.ProcessEnv): Promise<string | null> {
  return new Promise(resolve => {
    execFile(program, words, { env, timeout: LIMIT_MS }, (error, stdout) => resolve(error ? null : stdout));
  });
}
