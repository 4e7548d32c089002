// Describes which other machines may use the page and the API.
import type { RemoteAccess } from '../../api/schema.ts';
import { formatCount } from '../format.ts';
import { wordMessages } from '../message.ts';
import { fill, type Translator } from '../translator.ts';

export interface RemoteAccessText {
  title: string;
  /** Rights and encryption of the access. */
  detail: string;
  /** Others on the network can read along. */
  caution: boolean;
}

/** @returns null if no other machine shall be let in. */
export function describeRemoteAccess(remote: RemoteAccess | null, tr: Translator): RemoteAccessText | null {
  if (!remote) return null;
  const { _, ngettext } = tr;
  const { open, devices, managing, tls, address, wording } = remote;
  const problem = wording ? wordMessages(wording, tr) : remote.problem;
  if (!open)
    return { title: _('Remote access is off: the certificate can’t be used'), detail: problem ?? '', caution: true };
  const encrypted = tls !== null || (address?.startsWith('https:') ?? false);
  const paired =
    devices === 0
      ? _('No device is paired.')
      : fill(ngettext('%d device is paired.', '%d devices are paired.', devices), formatCount(devices, tr));
  const changing =
    managing > 0 &&
    fill(ngettext('%d may change things.', '%d may change things.', managing), formatCount(managing, tr));
  const plain = !encrypted && _('Culvert does not encrypt these connections.');
  return {
    title: _('Remote access is on'),
    detail: [problem, paired, changing, plain].filter(Boolean).join(' '),
    caution: problem !== null || !encrypted,
  };
}
