// Defines what the updater needs of an installation that it can replace: a user installation, or an AppImage.
import type { Artifact } from '../../manifest/schema.ts';

export interface Download {
  version: string;
  artifact: Artifact;
  signal: AbortSignal;
  /** Fetches the artifact into a new file and verifies it there. */
  fetch(file: string): Promise<void>;
  /** To be called when the artifact is fetched and verified, before it is installed. */
  installing(): void;
}

export interface Target {
  /** File name of the artifact that replaces this installation. */
  artifactName(version: string): string;
  /** Why the daemon can't replace this installation, or null. */
  notApplicableReason(): string | null;
  /** The version that `rollBack` returns to, or null. */
  previous(): string | null;
  /**
   * Replaces the installation, and keeps the current version to roll back to. Changes nothing when it rejects.
   * @throws UpdateRefused, Refusal, NodeJS.ErrnoException, InstallError
   */
  replace(download: Download): Promise<void>;
  /** @returns the version that is installed now. @throws InstallError `nothing-previous` */
  rollBack(): Promise<string>;
}
