// What the updater needs of a way in which Culvert can be installed; `userTree` and `appImage` are the two it can replace.
import type { Artifact } from '../../manifest/schema.ts';

export interface Download {
  version: string;
  artifact: Artifact;
  signal: AbortSignal;
  /** Fetches the artifact into a new file and verifies it there. */
  fetch(file: string): Promise<void>;
  /** Fetched and verified: from here on it is installed. */
  installing(): void;
}

export interface Target {
  /** File name of the artifact that this installation is replaced with. */
  artifactOf(version: string): string;
  /** Why this installation can't be replaced by the daemon, or null. */
  obstacle(): string | null;
  /** The version that `goBack` goes back to, or null. */
  previous(): string | null;
  /**
   * Replaces the installation; the version before is kept. Nothing is changed when it rejects.
   * @throws Refused, Refusal, NodeJS.ErrnoException, InstallError
   */
  replace(download: Download): Promise<void>;
  /** @returns the version that is installed now. @throws InstallError nothing-previous */
  goBack(): Promise<string>;
}
