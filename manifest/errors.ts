// Defines every refusal with its stable code, its exit status and a hint.
import { Failure } from '../daemon/core/errors.ts';

/** Exit status and hint of each kind of refusal. The help text and the tests read this table. */
export const REFUSALS = {
  'input-unreadable': [3, 'Check the path and its permissions.'],
  'input-not-regular': [4, 'Name a regular file: not a directory, symbolic link, pipe or device.'],
  'output-failed': [5, 'Check that the directory exists, can be written to and has space left.'],
  'output-exists': [6, 'Existing files are not overwritten: choose another name, or move the file away.'],

  'manifest-too-large': [10, 'Fetch it again from the release page; a manifest is at most 1 MiB.'],
  'manifest-malformed': [11, 'Fetch it again from the release page: it is damaged, or not a manifest.'],
  'manifest-invalid': [12, 'Compare it with "culvert-manifest schema".'],
  'schema-unknown': [13, 'A newer Culvert may know this format; update by hand.'],
  'project-foreign': [14, 'This manifest belongs to another project.'],
  'date-invalid': [15, 'A date has the form 2026-11-21T12:00:00Z.'],
  'name-foreign': [16, 'The name of an artifact starts with "culvert-", and more follows.'],
  'name-unsafe': [17, 'Do not use this release: such a name could write outside its directory, or hide what it is.'],
  'name-duplicate': [18, 'Each name may occur once.'],

  unsigned: [20, 'Fetch the file ending in .sig from the same place, or use --no-signature to compare the files only.'],
  'sidecar-too-large': [21, 'Fetch it again; a sidecar is at most 4 KiB.'],
  'sidecar-malformed': [22, 'Fetch it again: it is damaged, or not a sidecar of a release manifest.'],
  'key-unknown': [23, 'If you trust the signer, get the public key over another channel and pass it with --key.'],
  'signature-invalid': [
    24,
    'Do not use this release. Fetch the manifest and the sidecar again; report it if they still do not fit.',
  ],
  'sidecar-invalid': [25, 'The signed statement cannot be used; report it.'],
  expired: [26, 'Look for a newer release, and check the clock of this machine.'],
  'not-yet-valid': [27, 'Check the clock of this machine.'],
  'serial-older': [28, 'This release has been replaced; fetch the current one.'],
  'channel-other': [29, 'Fetch the release of your own channel, or change the channel.'],
  'tag-not-version': [30, 'A signed release needs a tag such as v1.2.3: create the manifest with --tag.'],
  'version-older': [31, 'Nothing to do: the installed version is newer.'],
  'version-unreachable': [32, 'Update to an intermediate version first.'],
  'serial-future': [33, 'Check the clock of this machine.'],
  'key-revoked': [34, 'Do not use this release: the key that signed it may be stolen. Fetch the current release.'],
  'signatures-missing': [35, 'Wait until the other maintainers have signed it, then fetch it again.'],

  'artifact-missing': [40, 'Fetch it, or name its directory with --dir.'],
  'artifact-not-regular': [
    41,
    'Replace it with the file itself; symbolic links, directories and devices are not followed.',
  ],
  'artifact-unreadable': [42, 'Check its permissions and the disk.'],
  'artifact-size': [43, 'Fetch it again: it is truncated, or a different file.'],
  'artifact-hash': [44, 'Do not use it. Fetch it again; report it if it still differs.'],
  'artifact-changed': [45, 'Wait until no program writes to it, then try again.'],
  'artifact-empty': [46, 'Build it again: an artifact has at least one byte.'],

  'key-invalid': [50, 'A key is an Ed25519 key in PEM form, as "culvert-manifest keygen" writes it.'],
  'key-exposed': [51, 'Run chmod 600 on it, and consider whether someone may have read it.'],
  'signer-failed': [53, 'Check the command of --signer, and whether the token is there and unlocked.'],
  'key-in-repository': [
    52,
    'Choose a directory that no repository contains, preferably on a medium that you can lock away.',
  ],
} as const satisfies Record<string, readonly [number, string]>;

export type RefusalCode = keyof typeof REFUSALS;

/** Exit statuses of runs that end without a refusal. */
export const EXIT = { success: 0, failure: 1, usage: 2 } as const;

/** A refusal with a stable `code`, a `message` that says what failed and why, and a `hint` about the next step. */
export class Refusal extends Failure<RefusalCode> {
  readonly exit: number;

  constructor(code: RefusalCode, message: string, options: { cause?: unknown; hint?: string } = {}) {
    super(message, { hint: REFUSALS[code][1], ...options, code });
    this.exit = REFUSALS[code][0];
  }
}

/** Creates the failure of an invalid command line, which has exit status 2. */
export const usage = (message: string) => new Failure(message, { code: 'usage' });
