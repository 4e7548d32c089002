// Pure: names the list of programs that an administrator allowed outside the tunnel while the kill switch is on, and parses it.

/** A path on each line, and comments that begin with #. */
export const ALLOWLIST = '/etc/culvert/outside-programs';

/** Absolute paths without detours: root can check each directory on the way. Others are left out. */
export function parseAllowlist(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => /^(?:\/[^/\0]+)+$/.test(line) && !/\/\.\.?(?:\/|$)/.test(line));
}
