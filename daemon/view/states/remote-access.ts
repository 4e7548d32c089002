// Describes which other machines may use the page and the API.
import type { RemoteAccess } from '../../api/schema.ts';
import { N_, type Translator } from '../translator.ts';

export interface RemoteAccessText {
  title: string;
  /** Empty while the connections are encrypted. */
  detail: string;
  /** Others on the network can read along. */
  caution: boolean;
}

/** Meaning of an unencrypted connection, and the ways to encrypt it. */
export const UNENCRYPTED = N_(
  'Others on the network can read this traffic and take over the access. Use ssh -L, or put a reverse proxy with TLS in front of Culvert.',
);

/** @returns null if no other machine shall be let in. */
export function describeRemoteAccess(remote: RemoteAccess | null, tr: Translator): RemoteAccessText | null {
  if (!remote) return null;
  const { _ } = tr;
  const isEncrypted = remote.address?.startsWith('https:') ?? false;
  return {
    title: _('Remote access is on'),
    detail: isEncrypted ? '' : _('Culvert does not encrypt these connections.'),
    caution: !isEncrypted,
  };
}
