// Translates the updater's outcomes into API answers, and builds update commands for installations that the daemon can't update.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Verified } from '../../manifest/verify.ts';
import type { UpdateCheck, Version } from '../api/schema.ts';
import { errno, Failure, reason } from '../core/errors.ts';
import { Problem } from '../problem.ts';
import { quote } from '../view/fix.ts';
import { addressOf, type ReleaseSource } from './release.ts';
import type { UpdateState } from './update-state.ts';

/** Converts a manifest's time to UTC. It may have an offset, or a leap second, which `Date` does not support. */
function toUtc(time: string): string {
  const at = new Date(time.replace(/:60(?=[.Z+-])/, ':59'));
  return Number.isNaN(at.getTime()) ? time : at.toISOString();
}

/** Describes the manifest of a verified release for the API. */
export function describeManifest({ manifest, signers }: Verified): UpdateCheck['manifest'] {
  return {
    generatedAt: toUtc(manifest.generated_at),
    tag: manifest.tag ?? null,
    signed: true,
    signer: signers.map(({ name }) => name).join(', '),
  };
}

/** Describes the failure of a check for the API. */
export function describeFailure(error: unknown): NonNullable<UpdateCheck['problem']> {
  if (error instanceof Problem) return { code: error.code, detail: error.message };
  if (!(error instanceof Failure)) return { code: 'failed', detail: `The check failed: ${reason(error)}.` };
  const { code, hint, message } = error;
  return { code, detail: hint ? `${message} ${hint}` : message };
}

/** Returns the problem for a failed update. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const message = reason(error);
  if (!(error instanceof Failure)) {
    const code = errno(error);
    return new Problem(
      'update-failed',
      `The update failed: ${message}. The installed version is unchanged.`,
      { hint: 'Check the free space and the permissions, then try again.', ...(code ? { reason: code } : {}) },
      error,
    );
  }
  const { code, hint } = error;
  if (code === 'locked') return new Problem('busy', message, {}, error);
  const isOurs = code === 'foreign-files' || code === 'nothing-previous';
  const kind = isOurs ? 'update-not-applicable' : 'update-refused';
  return new Problem(kind, message, { reason: code, ...(hint ? { hint } : {}) }, error);
}

/** Time until an unreachable source is reported. A shorter failure may be due to a traveler's network. */
const UNREACHABLE_MS = 7 * 86_400_000;
/** Codes that a broken or captive network can also cause. */
const NETWORK_CODES = new Set([
  'network-failed',
  'certificate-invalid',
  'tls-failed',
  'timeout',
  'stalled',
  'redirected',
  'http-status',
  'release-missing',
  'response-malformed',
  'truncated',
  'encoded',
  'too-large',
  'stopped',
  'busy',
]);

/** Results of earlier checks. */
type SourceHistory = Pick<UpdateState, 'answeredAt' | 'failingSince'>;

/**
 * Describes whether updates can reach this installation. Otherwise, a blocked source or an expired release would go
 * unnoticed (the freeze attack of TUF).
 * @param now in milliseconds since 1970
 */
export function describeSource(
  problem: UpdateCheck['problem'],
  state: SourceHistory,
  now: number,
): UpdateCheck['source'] {
  const lastAnswerAt = state.answeredAt === null ? null : new Date(state.answeredAt).toISOString();
  if (problem === null || problem.code === 'no-source') return { state: 'ok', lastAnswerAt };
  if (problem.code === 'expired') return { state: 'expired', lastAnswerAt };
  if (!NETWORK_CODES.has(problem.code)) return { state: 'refused', lastAnswerAt };
  const since = state.failingSince ?? now;
  return { state: now - since >= UNREACHABLE_MS ? 'unreachable' : 'ok', lastAnswerAt };
}

/** apt's file for Culvert's package repository, with the name in the documentation. */
export const APT_SOURCE = '/etc/apt/sources.list.d/culvert.sources';
/** dnf's file for Culvert's package repository. */
export const DNF_SOURCE = '/etc/yum.repos.d/culvert.repo';
/** Packages for apt to upgrade. It skips packages that are not installed. */
const DEBIAN_PACKAGES = ['culvert', 'culvert-daemon', 'culvert-archive-keyring'];

type Format = Version['installFormat'];

/**
 * Returns a command that updates an installation, or null if the daemon updates it or no release is known.
 * The command checks each download against the digest in the signed manifest.
 * @param prefix the prefix of this installation
 */
export function commandFor(format: Format, prefix: string, release: Verified | null, from: ReleaseSource) {
  if (format === 'source') return sourceCommand(prefix);
  if (release === null) return null;
  const { version } = release;
  const download = (name: string, then: string) => downloadCommand(release, from, [name], then);
  const source = `culvert-${version}-source.tar.gz`;
  // servers have no panel
  const parts = [...(existsSync(join(prefix, 'share/culvert/panel.js')) ? [''] : []), '-daemon', '-archive-keyring'];
  switch (format) {
    case 'deb': {
      if (existsSync(APT_SOURCE))
        return `sudo apt update && sudo apt install --only-upgrade ${DEBIAN_PACKAGES.join(' ')}`;
      const names = parts.map(part => `culvert-${version}${part}.deb`);
      return downloadCommand(release, from, names, `sudo apt install ${names.map(name => `./${name}`).join(' ')}`);
    }
    case 'rpm': {
      if (existsSync(DNF_SOURCE)) return "sudo dnf upgrade --refresh 'culvert*'";
      const build = `SOURCE_DATE_EPOCH=$(date +%s) culvert-${version}/data/rpm/build.sh ${source} culvert.rpm work`;
      return download(
        source,
        `tar xzf ${source} && ${build} && sudo rpm -U ${parts.map(part => `culvert${part}.rpm`).join(' ')}`,
      );
    }
    case 'arch': {
      // the recipe contains the source's address, digest and keys
      const recipes = `culvert-${version}-recipes`;
      const build = '{ gpg --import *.asc; makepkg -si; }';
      return download(`${recipes}.tar.gz`, `tar xzf ${recipes}.tar.gz && cd ${recipes} && ${build}`);
    }
    case 'system': {
      const setup = `npm ci && meson setup build/system --prefix ${quote([prefix])} -Dinstall_format=system`;
      return download(
        source,
        `tar xzf ${source} && cd culvert-${version} && ${setup} && sudo meson install -C build/system`,
      );
    }
    default:
      return null; // the daemon replaces user installations and AppImages
  }
}

function sourceCommand(prefix: string): string {
  const repository = join(prefix, '../..'); // build/prefix is two levels below the source tree
  const enter = existsSync(join(repository, 'culvert-tool')) ? `cd ${quote([repository])} && ` : '';
  return `${enter}git pull && ./culvert-tool build`;
}

/** Builds a command that needs no quotes: its names and address have no characters with a meaning in a shell. */
function downloadCommand({ manifest }: Verified, from: ReleaseSource, names: string[], then: string): string | null {
  const artifacts = names.flatMap(name => manifest.artifacts.find(listed => listed.name === name) ?? []);
  if (artifacts.length < names.length) return null;
  const steps = artifacts.map(
    ({ name, sha256 }) => `curl -fLO ${addressOf(from, name).href} && echo '${sha256}  ${name}' | sha256sum -c`,
  );
  return ['cd "$(mktemp -d)"', ...steps, then].join(' && ');
}
