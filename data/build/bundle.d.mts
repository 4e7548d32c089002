import type { BuildOptions } from 'esbuild';

/** Entry of each program, from the project's root. */
export const programs: Record<'daemon' | 'cli' | 'emulator' | 'wrap' | 'manifest', string>;
export const common: BuildOptions;
/**
 * Bundles a program into its directory, and replaces the old content.
 * @param define constants such as `__VERSION__`, as source text.
 * @param debuggable one file with a source map, instead of small files that start fast.
 * @returns absolute paths of the sources that went in.
 */
export function bundleProgram(
  name: keyof typeof programs,
  directory: string,
  define?: Record<string, string>,
  debuggable?: boolean,
): string[];
/** Entry of each program for GJS. */
export const gjsPrograms: Record<'panel' | 'tray' | 'bridge' | 'killswitch', string>;
/** Bundles programs for GJS as `NAME.js` in a directory. @returns absolute paths of the sources that went in. */
export function bundleGjs(
  names: readonly Exclude<keyof typeof gjsPrograms, 'panel'>[],
  directory: string,
  define?: Record<string, string>,
  debuggable?: boolean,
): string[];
/**
 * Bundles the panel, which loads a further file after its first frame, or a program that contains it.
 * @param program its name and its file, relative
 * @returns as above
 */
export function bundlePanel(
  directory: string,
  define?: Record<string, string>,
  debuggable?: boolean,
  program?: Record<string, string>,
): string[];
/** Directory name of the extension of GNOME Shell. */
export const SHELL_EXTENSION: string;
/** Bundles the extension of GNOME Shell into a directory, in place of what is there. @returns as above */
export function bundleShell(
  directory: string,
  facts: { version: string; homepage: string },
  debuggable?: boolean,
): string[];
