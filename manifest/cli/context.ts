// Defines what the commands take from the process that they run in.
import type { Screen } from './output.ts';

export interface Context {
  env: NodeJS.ProcessEnv;
  /** Milliseconds since 1970. */
  now: () => number;
  /** The program's own file, which the hashing thread runs again. */
  worker: string;
  version: string;
  /** Output for results. */
  stdout: Pick<Screen, 'write'>;
  /** Output for failures, notes and progress. */
  stderr: Screen;
}
