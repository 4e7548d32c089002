// The keys that may sign a release of Culvert, pinned into every build. Public ones only; private ones are never here.

/** A pinned key: a name for people, and the 32 raw bytes of an Ed25519 public key in base64. */
export interface PinnedKey {
  readonly name: string;
  readonly key: string;
}

/**
 * Two places: the key in use, and the next one. To rotate, sign with the next key (every installation accepts it
 * already), then move it to the first place and pin a fresh one behind it. A lost or stolen key is taken out here.
 *
 * Both places are still empty, because nobody holds a release key yet: the maintainer runs `culvert-manifest keygen`
 * on a machine of their own and puts the line that it prints here. Until then every signed release is refused
 * (`key-unknown`), so nothing can be applied unverified. A rebuild by someone else sets their own list in
 * `__RELEASE_KEYS__`.
 */
const PINNED: readonly PinnedKey[] = [];

declare const __RELEASE_KEYS__: readonly PinnedKey[] | undefined;

/** The keys this build trusts. */
export const RELEASE_KEYS: readonly PinnedKey[] = typeof __RELEASE_KEYS__ === 'undefined' ? PINNED : __RELEASE_KEYS__;
