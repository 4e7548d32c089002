// A user's machine with the shell of a desktop, for tests of what `culvert shell` writes there.
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Place } from '../../../../daemon/cli/commands/shells/gnome.ts';
import { temporary } from '../../../support/temporary.ts';

export const UUID = 'culvert@culvert.org';

/** Stands in for gsettings, whose keys are files; a shell that runs answers with the file `shell`. */
const GSETTINGS = `#!/bin/sh
cd "$(dirname "$0")/../settings" || exit 1
case $1 in
  get) cat "$3" ;;
  set) printf '%s\\n' "$4" > "$3" ;;
esac`;
const GDBUS = `#!/bin/sh
echo "$*" >> "$(dirname "$0")/../called"
exec cat "$(dirname "$0")/../shell"`;

export interface Machine {
  place: Place;
  root: string;
  /** Sets the answer of the running Shell; null for none. */
  shell(answer: string | null): void;
  /** Calls of gdbus, one a line. */
  called(): string;
  enabled(): string;
  /** Every file of the user, relative. */
  files(): string[];
}

export function machine(t: TestContext, more: Partial<Place> = {}): Machine {
  const root = temporary(t, 'shell');
  for (const name of ['bin', 'settings', 'home']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'bin', 'gsettings'), GSETTINGS, { mode: 0o755 });
  writeFileSync(join(root, 'bin', 'gdbus'), GDBUS, { mode: 0o755 });
  writeFileSync(join(root, 'settings', 'enabled-extensions'), "['other@example.org']\n");
  writeFileSync(join(root, 'settings', 'disabled-extensions'), `['${UUID}']\n`);
  writeFileSync(join(root, 'settings', 'disable-user-extensions'), 'false\n');
  const share = join(root, 'share');
  const extension = join(share, 'gnome-shell/extensions', UUID);
  mkdirSync(join(extension, 'extension'), { recursive: true });
  mkdirSync(join(share, 'icons/hicolor/scalable/status'), { recursive: true });
  mkdirSync(join(share, 'locale/de/LC_MESSAGES'), { recursive: true });
  writeFileSync(join(extension, 'metadata.json'), '{}');
  writeFileSync(join(extension, 'extension/__init__.js'), '');
  writeFileSync(join(share, 'icons/hicolor/scalable/status/a-symbolic.svg'), '<svg/>');
  writeFileSync(join(share, 'locale/de/LC_MESSAGES/culvert.mo'), Buffer.from([0xde, 0x12, 0x04, 0x95]));
  writeFileSync(join(share, 'locale/de/LC_MESSAGES/gtk40.mo'), '');
  symlinkSync('../../../icons/hicolor/scalable/status', join(extension, 'icons'));
  symlinkSync('../../../locale', join(extension, 'locale'));
  const home = join(root, 'home');
  const called = join(root, 'called');
  return {
    root,
    place: {
      env: { PATH: `${join(root, 'bin')}:${process.env.PATH}`, XDG_DATA_DIRS: join(root, 'system') },
      share,
      image: null,
      isSystem: false,
      data: join(home, '.local/share'),
      records: join(home, '.local/state/culvert/shells'),
      ...more,
    },
    shell: answer => writeFileSync(join(root, 'shell'), answer ?? ''),
    called: () => (existsSync(called) ? readFileSync(called, 'utf8') : ''),
    enabled: () => readFileSync(join(root, 'settings', 'enabled-extensions'), 'utf8').trim(),
    files: () => readdirSync(home, { recursive: true, encoding: 'utf8' }).sort(),
  };
}
