// A tree of a user installation in small: a program that answers like Culvert, a desktop entry, an icon, a unit.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Makes `culvert-VERSION` in a directory. `extra` are further files, by path. */
export function smallTree(directory: string, version: string, extra: Record<string, string> = {}): string {
  const tree = path.join(directory, `culvert-${version}`);
  const files: Record<string, string> = {
    'bin/culvert': `#!/bin/sh\n[ "$1" != --version ] || echo 'culvert ${version}'\n`,
    'share/culvert/daemon/main.cjs': `// ${version}\n`,
    'share/applications/org.culvert.Culvert.desktop': '[Desktop Entry]\nExec=@PREFIX@/bin/culvert\n',
    'share/icons/hicolor/scalable/apps/org.culvert.Culvert.svg': '<svg/>\n',
    'lib/systemd/user/culvert.service': `# ${version}\nExecStart=@PREFIX@/bin/culvert\n`,
    ...extra,
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(tree, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text, { mode: name.startsWith('bin/') ? 0o755 : 0o644 });
  }
  return tree;
}

/** Its archive, as a release has it. */
export function pack(tree: string): Buffer {
  return execFileSync('tar', ['-C', path.dirname(tree), '-czf', '-', path.basename(tree)]);
}
