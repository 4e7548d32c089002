// Provides the public keys that may sign a release of Culvert; the private ones are never in the repository.
import project from '../../data/project.json' with { type: 'json' };

/** A pinned key: a name for people, and the 32 raw bytes of an Ed25519 public key in base64. */
export interface PinnedKey {
  readonly name: string;
  readonly key: string;
  /** True once it was stolen or lost: it keeps its rank, and signs nothing anymore. */
  readonly revoked?: boolean;
}

declare const __RELEASE_KEYS__: readonly PinnedKey[] | undefined;

/**
 * The keys this build trusts, each of a higher rank than those before it: a key can revoke only keys before it, so the
 * key for daily use comes first and the one that stays locked away comes last. `./culvert-tool release-key` writes them
 * into data/project.json; while the list is empty, every signed release is refused (`key-unknown`). A rebuild by someone
 * else can set its own list as `__RELEASE_KEYS__`.
 */
export const RELEASE_KEYS: readonly PinnedKey[] =
  typeof __RELEASE_KEYS__ === 'undefined' ? project.releaseKeys.pinned : __RELEASE_KEYS__;

/** Number of these keys that have to sign a release. */
export const RELEASE_THRESHOLD = project.releaseKeys.threshold;
