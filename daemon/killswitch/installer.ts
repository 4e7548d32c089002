// The script that installs the root service where no package did: `culvert killswitch installer | sudo sh`. It carries
// the files with it, because root can't read an AppImage's, and must not run in place what a user may change.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const LIBDIR = '/usr/local/lib/culvert-killswitch';
const UNITS = '/usr/local/lib/systemd/system';

/** Where each file goes, by its name in the installation's killswitch directory. */
const FILES: readonly { from: string; to: string; mode?: '755' }[] = [
  { from: 'guard.in', to: `${LIBDIR}/guard`, mode: '755' },
  { from: 'culvert-killswitch-remove.in', to: '/usr/local/sbin/culvert-killswitch-remove', mode: '755' },
  { from: 'culvert-killswitch.service.in', to: `${UNITS}/culvert-killswitch.service` },
  { from: 'culvert-killswitch-guard.service.in', to: `${UNITS}/culvert-killswitch-guard.service` },
  { from: 'culvert-killswitch-resume@.service.in', to: `${UNITS}/culvert-killswitch-resume@.service` },
  { from: 'culvert-killswitch.tmpfiles.conf', to: '/etc/tmpfiles.d/culvert-killswitch.conf' },
  { from: 'org.culvert.killswitch.policy', to: '/usr/share/polkit-1/actions/org.culvert.killswitch.policy' },
  { from: 'org.culvert.KillSwitch1.conf', to: '/etc/dbus-1/system.d/org.culvert.KillSwitch1.conf' },
  // last: from here on it counts as installed
  {
    from: 'org.culvert.KillSwitch1.service.in',
    to: '/usr/local/share/dbus-1/system-services/org.culvert.KillSwitch1.service',
  },
];
const PROGRAM = `${LIBDIR}/killswitch.js`;
const FALLBACK = `${LIBDIR}/fallback.nft`;
const LINK = `${UNITS}/sysinit.target.wants/culvert-killswitch-guard.service`;

/**
 * @param share `<prefix>/share/culvert`
 * @returns a POSIX sh script
 * @throws Error when a file of the installation is missing
 */
export function installerScript(share: string): string {
  const installed = [...FILES.map(({ to }) => to), PROGRAM, FALLBACK, LINK];
  const text = (from: string) =>
    readFileSync(join(share, 'killswitch', from), 'utf8')
      .replaceAll('@LIBDIR@', LIBDIR)
      .replaceAll('@GJS@', '/usr/bin/gjs')
      .replaceAll('@FILES@', installed.join(' '));
  const program = readFileSync(join(share, 'killswitch.js'), 'utf8');
  return `#!/bin/sh
# Installs the kill switch of Culvert. To take it away again: sudo culvert-killswitch-remove
set -eu
umask 022
[ "$(id -u)" -eq 0 ] || { echo 'Run this as root: pipe it to "sudo sh".' >&2; exit 1; }
for program in /usr/bin/gjs nft systemctl; do
  command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null ||
    { echo "$program is missing. On Debian and Ubuntu: apt-get install gjs nftables polkitd" >&2; exit 1; }
done
# whole or not at all: a shell that got half of this script has run none of it
main() {
${put(program, PROGRAM, '644')}
/usr/bin/gjs -m ${PROGRAM} --fallback >${FALLBACK}.new && mv ${FALLBACK}.new ${FALLBACK}
mkdir -p ${UNITS}/sysinit.target.wants
ln -sfn ../culvert-killswitch-guard.service ${LINK}
${FILES.map(({ from, to, mode = '644' }) => put(text(from), to, mode)).join('\n')}
[ -d /run/systemd/system ] || { echo 'Installed; it starts with the next boot.' >&2; return 0; }
systemd-tmpfiles --create /etc/tmpfiles.d/culvert-killswitch.conf
systemctl daemon-reload
busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig >/dev/null
systemctl try-restart culvert-killswitch.service
echo 'The kill switch is installed; it is off until it is turned on.' >&2
}
main
`;
}

/** Commands that put a text into a file's place. No line of the text may be the mark. */
function put(text: string, to: string, mode: string): string {
  let mark = 'END';
  while (text.split('\n').includes(mark)) mark += '_';
  return `mkdir -p ${to.slice(0, to.lastIndexOf('/'))}
cat >${to}.new <<'${mark}'
${text.endsWith('\n') ? text : `${text}\n`}${mark}
chmod ${mode} ${to}.new
mv ${to}.new ${to}`;
}
