// Describes fixes that replace a file, with the difference to show, labels fixes, and defines the values that checks share with
// `culvert-repair`.
import type { CheckResult, Fix } from '../api/doctor.ts';
import type { Message } from '../api/values.ts';
import { differenceOf, withoutRemoved } from '../patch.ts';
import { wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';

type FileFix = Extract<Fix, { kind: 'file' }>;

interface FileChange {
  /** The current text; null if the file does not exist. */
  before: string | null;
  content: string;
}

/**
 * @param privileged true if only an administrator can write the file
 * @returns null for a file that is not UTF-8: writing its decoded text would lose bytes
 */
export function fileFix(
  label: Message,
  path: string,
  { before, content }: FileChange,
  privileged = true,
): FileFix | null {
  if (before?.includes('\ufffd')) return null;
  const diff = withoutRemoved(differenceOf(path, before, content));
  return { kind: 'file', ...labeled(label), path, diff, content, privileged };
}

/** Returns the fix without the user's text, if `culvert-repair` makes the change. The text of a new file is Culvert's. */
export function withoutText(fix: Fix): Fix {
  if (fix.kind !== 'file' || !fix.repair || fix.diff.includes('/dev/null')) return fix;
  const { content: _, ...rest } = fix;
  return rest;
}

/** Returns the result in the form that other processes see. */
export function shownResult(result: CheckResult): CheckResult {
  return result.fix ? { ...result, fix: withoutText(result.fix) } : result;
}

/** Returns the label of a fix, in English and for translation. */
export function labeled(wording: Message): Pick<Fix, 'label' | 'wording'> {
  return { label: wordMessage(wording, english), wording };
}

/** Settings that keep dnsmasq off the client's addresses. */
export const DNSMASQ = {
  path: '/etc/dnsmasq.d/culvert.conf',
  content: 'bind-dynamic\nexcept-interface=lo\n',
  unit: 'dnsmasq.service',
} as const;

/** DNS servers that `culvert-repair` may stop, because they only resolve names. People decide about other servers. */
export const STOPPABLE: readonly string[] = ['unbound', 'named', 'bind9', 'AdGuardHome', 'pihole-FTL', 'coredns'].map(
  name => `${name}.service`,
);

/** Target of /etc/resolv.conf if systemd-resolved answers. */
export const RESOLVED_STUB = '../run/systemd/resolve/stub-resolv.conf';

/** Returns the command; sysctl(8) expects a slash for a dot in an interface's name. */
export function setIpv6Disabled(ifname: string, value: string): string[] {
  return ['sysctl', '-w', `net.ipv6.conf.${ifname.replaceAll('.', '/')}.disable_ipv6=${value}`];
}
