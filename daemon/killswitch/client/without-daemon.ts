// Reads and changes the kill switch for the command line without a daemon, and creates the script that installs the root
// service.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KillSwitch } from '../../api/schema.ts';
import { NO_KILL_SWITCH } from '../../state/store.ts';
import type { Report } from '../report.ts';
import { explained } from '../wording.ts';
import { absent, isInstalled, readPublished, SERVICE_PATHS, type ServicePaths } from './published-state.ts';
import { type Call, callService } from './service-link.ts';

/** Advice for a user whom the kill switch blocks while Culvert doesn't work. */
export const WAY_OUT =
  'To turn it off: culvert killswitch off. If that fails: sudo busctl call org.culvert.KillSwitch1 ' +
  '/org/culvert/KillSwitch1 org.culvert.KillSwitch1 Disable, or sudo culvert-killswitch-remove.';

/** Reads the kill switch. Never rejects: unknown values are null, and `detail` has the reason. */
export async function readWithoutDaemon(service: ServicePaths = SERVICE_PATHS): Promise<KillSwitch> {
  if (!isInstalled(service)) return { ...NO_KILL_SWITCH, installed: false, ...absent(service) };
  const published = readPublished(service);
  if (!('unreadable' in published)) {
    const { version: _, pid: __, startTime: ___, ...report } = published;
    return toKillSwitch(report);
  }
  try {
    return toKillSwitch(await callService({ method: 'Status' }, false, service));
  } catch {
    return { ...NO_KILL_SWITCH, installed: true, active: null, ...explained([published.unreadable]) };
  }
}

/** @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed */
export async function askWithoutDaemon(call: Call, service: ServicePaths = SERVICE_PATHS): Promise<KillSwitch> {
  return toKillSwitch(await callService(call, true, service));
}

function toKillSwitch(report: Report): KillSwitch {
  return { ...report, installed: true, command: null };
}

const LIBDIR = '/usr/local/lib/culvert-killswitch';
const UNITS = '/usr/local/lib/systemd/system';
const POLKIT_ACTIONS = '/usr/share/polkit-1/actions';

/** Destination of each file in the installation's killswitch directory. */
const FILES: readonly { from: string; to: string; mode?: '755' }[] = [
  { from: 'guard.in', to: `${LIBDIR}/guard`, mode: '755' },
  { from: 'culvert-killswitch-remove.in', to: '/usr/local/sbin/culvert-killswitch-remove', mode: '755' },
  { from: 'culvert-killswitch.service.in', to: `${UNITS}/culvert-killswitch.service` },
  { from: 'culvert-killswitch-guard.service.in', to: `${UNITS}/culvert-killswitch-guard.service` },
  { from: 'culvert-killswitch-resume@.service.in', to: `${UNITS}/culvert-killswitch-resume@.service` },
  { from: 'culvert-killswitch-sign-in.service.in', to: `${UNITS}/culvert-killswitch-sign-in.service` },
  { from: 'culvert-killswitch.tmpfiles.conf', to: '/etc/tmpfiles.d/culvert-killswitch.conf' },
  { from: 'org.culvert.killswitch.policy', to: `${POLKIT_ACTIONS}/org.culvert.killswitch.policy` },
  { from: 'org.culvert.KillSwitch1.conf', to: '/etc/dbus-1/system.d/org.culvert.KillSwitch1.conf' },
  // last: once this file exists, the service counts as installed
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
  const directories = [...new Set(installed.map(directoryOf))];
  return `#!/bin/sh
# Installs the kill switch of Culvert. To remove it again: sudo culvert-killswitch-remove
set -eu
umask 022
fail() { echo "$1" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || fail 'Run this as root: pipe it to "sudo sh".'
for program in /usr/bin/gjs nft systemctl; do
  command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null ||
    fail "$program is missing. On Debian and Ubuntu: apt-get install gjs nftables polkitd"
done
[ -d ${POLKIT_ACTIONS} ] || fail 'polkit is missing, which decides who may turn it off. On Debian and Ubuntu: apt-get install polkitd'
for directory in ${directories.join(' ')}; do
  existing=$directory
  until [ -d "$existing" ]; do existing=$(dirname "$existing"); done
  [ -w "$existing" ] || fail "$existing can't be written to, so the kill switch can't be installed on this system."
done
# the directories that it makes, which culvert-killswitch-remove removes again
made=
make() {
  [ -d "$1" ] && return
  make "$(dirname "$1")"
  mkdir "$1"
  made="$1 $made"
}
# whole or not at all: a shell that got half of this script has run none of it
main() {
${directories.map(directory => `make ${directory}`).join('\n')}
[ -z "$made" ] || echo "$made" >>${LIBDIR}/directories
${put(program, PROGRAM, '644')}
/usr/bin/gjs -m ${PROGRAM} --fallback >${FALLBACK}.new && mv ${FALLBACK}.new ${FALLBACK}
ln -sfn ../culvert-killswitch-guard.service ${LINK}
${FILES.map(({ from, to, mode = '644' }) => put(text(from), to, mode)).join('\n')}
[ -d /run/systemd/system ] || { echo 'Installed. It needs systemd, which does not run here: it starts when systemd boots this system.' >&2; return 0; }
systemd-tmpfiles --create /etc/tmpfiles.d/culvert-killswitch.conf
systemctl daemon-reload
busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig >/dev/null
systemctl try-restart culvert-killswitch.service
echo 'The kill switch is installed; it is off until it is turned on.' >&2
}
main
`;
}

function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** Returns commands that write a text to a file. The here-document's end mark must not be a line of the text. */
function put(text: string, to: string, mode: string): string {
  let mark = 'END';
  while (text.split('\n').includes(mark)) mark += '_';
  return `cat >${to}.new <<'${mark}'
${text.endsWith('\n') ? text : `${text}\n`}${mark}
chmod ${mode} ${to}.new
mv ${to}.new ${to}`;
}
