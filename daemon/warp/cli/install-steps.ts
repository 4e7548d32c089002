// Names the commands that install Cloudflare WARP on a Linux distribution, from its os-release file.
import { quote } from '../../view/fix.ts';

/** Commands to run in order, each as a list of arguments. */
interface InstallSteps {
  commands: string[][];
  /** True if an administrator must run the commands. */
  privileged: boolean;
}

const REPOSITORY = 'https://pkg.cloudflareclient.com';
/** Codenames of Debian and Ubuntu releases with packages of WARP 2026.8 in the repository. */
export const SERVED_DEBIAN: ReadonlySet<string> = new Set(['jammy', 'noble', 'resolute', 'bookworm', 'trixie']);
/** Versions of Fedora, and of RHEL and its rebuilds, with these packages. */
const SERVED_FEDORA = new Set(['43', '44']);
const SERVED_RHEL = new Set(['9', '10']);
const RHEL = new Set(['rhel', 'almalinux', 'rocky', 'centos', 'ol']);
/** Architectures of the packages, with Node's names. */
const SERVED_ARCHITECTURES = new Set(['x64', 'arm64']);

const KEYRING = '/usr/share/keyrings/cloudflare-warp-archive-keyring.gpg';
const AUR_PACKAGE = 'cloudflare-warp-bin';

/**
 * Returns the commands of Cloudflare's guide (https://pkg.cloudflareclient.com), or for Arch Linux the commands of its wiki
 * for AUR packages (https://wiki.archlinux.org/title/Arch_User_Repository#Installing_and_upgrading_packages).
 * @param osRelease text of os-release(5)
 * @param architecture as `process.arch`
 * @returns null for a system without packages
 */
export function installSteps(osRelease: string, architecture: string): InstallSteps | null {
  if (!SERVED_ARCHITECTURES.has(architecture)) return null;
  const read = (key: string) => new RegExp(`^${key}=["']?([\\w .-]*)["']?\\s*$`, 'm').exec(osRelease)?.[1] ?? '';
  // these systems are images, to which these commands can't add packages
  if (read('OSTREE_VERSION') || read('IMAGE_ID')) return null;
  const families = [read('ID'), ...read('ID_LIKE').split(' ')];
  const version = read('VERSION_ID').split('.')[0] ?? '';
  if (families.includes('debian') || families.includes('ubuntu')) {
    // a derivative names the release on which it is based
    const codename = ['UBUNTU_CODENAME', 'DEBIAN_CODENAME', 'VERSION_CODENAME'].map(read).find(Boolean) ?? '';
    return SERVED_DEBIAN.has(codename) ? debianSteps(codename) : null;
  }
  if (read('ID') === 'fedora') return SERVED_FEDORA.has(version) ? rpmSteps() : null;
  if (RHEL.has(read('ID'))) return SERVED_RHEL.has(version) ? rpmSteps() : null;
  return families.includes('arch') ? archSteps() : null;
}

function debianSteps(codename: string): InstallSteps {
  const source = `deb [signed-by=${KEYRING}] ${REPOSITORY}/ ${codename} main`;
  return {
    privileged: true,
    commands: [
      ['apt-get', 'install', '-y', 'curl', 'gpg'],
      ['sh', '-c', `curl -fsSL ${REPOSITORY}/pubkey.gpg | gpg --yes --dearmor --output ${KEYRING}`],
      ['sh', '-c', `echo "${source}" > /etc/apt/sources.list.d/cloudflare-client.list`],
      ['apt-get', 'update'],
      ['apt-get', 'install', '-y', 'cloudflare-warp'],
    ],
  };
}

function rpmSteps(): InstallSteps {
  const list = '/etc/yum.repos.d/cloudflare-warp.repo';
  return {
    privileged: true,
    commands: [
      ['curl', '-fsSL', `${REPOSITORY}/cloudflare-warp-ascii.repo`, '-o', list],
      ['dnf', 'install', '-y', 'cloudflare-warp'],
    ],
  };
}

function archSteps(): InstallSteps {
  return {
    privileged: false,
    commands: [
      ['git', 'clone', `https://aur.archlinux.org/${AUR_PACKAGE}.git`],
      ['sh', '-c', `cd ${AUR_PACKAGE} && makepkg -si`],
    ],
  };
}

/** Joins the commands for a shell, which stops at the first failure and reads all before sudo asks for a password. */
export function installCommand({ commands, privileged }: InstallSteps): string {
  return commands.map(argv => (privileged ? `sudo ${quote(argv)}` : quote(argv))).join(' &&\n');
}
