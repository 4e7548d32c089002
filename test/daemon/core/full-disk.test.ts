// A runtime directory without space: the daemon says which file it can't write and why, and leaves nothing behind.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { bundleScript } from '../../support/script.ts';
import { temporary } from '../../support/temporary.ts';

/** Runs a script as root of its own user namespace, where `$MOUNT` is a full file system of 32 KiB. */
function onFullDisk(script: string) {
  const prepare = 'mkdir "$MOUNT" && mount -t tmpfs -o size=32k tmpfs "$MOUNT" && mkdir -m 700 "$MOUNT/culvert"';
  const fill = 'head -c 64K /dev/zero > "$MOUNT/fill" 2>/dev/null; :';
  const shell = `d=$(mktemp -d) && MOUNT=$d/full && ${prepare} && { ${fill}; } && ${script}; s=$?; umount "$MOUNT"; rm -r "$d"; exit $s`;
  return spawnSync('unshare', ['-Urm', 'sh', '-c', shell], { encoding: 'utf8' });
}
const isPossible = onFullDisk('true').status === 0;

test('a start says which file could not be written, and to free space', { skip: !isPossible }, t => {
  const program = bundleScript(resolve(import.meta.dirname, '../../../daemon/main.ts'), temporary(t));
  const main = `${process.execPath} ${program} --no-open --no-tray --no-panel --demo --port 24173`;
  const { status, stderr } = onFullDisk(
    `XDG_RUNTIME_DIR="$MOUNT" HOME="$d" ${main}; s=$?; ls "$MOUNT/culvert" >&2; (exit $s)`,
  );
  assert.equal(status, 1, stderr);
  assert.match(
    stderr,
    /culvert: \S+\/culvert\/lock\S* can't be written: No space left on disk\. Free some space there\.\n$/,
  );
});

/** Obstacles that the doctor finds in a directory of the mount, which is to be made. */
const OBSTACLES = {
  space: 'true',
  inodes:
    'rm "$MOUNT/fill" && mount -o remount,size=8m,nr_inodes=4 "$MOUNT" && ! touch "$MOUNT/a" "$MOUNT/b" "$MOUNT/c" 2>/dev/null',
  'read-only': 'mount -o remount,size=8m,ro "$MOUNT"',
  null: 'mount -o remount,size=8m "$MOUNT"',
};
for (const [kind, prepare] of Object.entries(OBSTACLES))
  test(`the doctor sees what keeps a file from being written: ${kind}`, { skip: !isPossible }, t => {
    const files = resolve(import.meta.dirname, '../../../daemon/doctor/world/files.ts');
    const text = `import { createFiles } from '${files}';
createFiles().obstacle(process.env.MOUNT + '/culvert/none/below').then(found => console.log(found && found.kind));`;
    const program = bundleScript({ text }, temporary(t));
    const { stdout, stderr } = onFullDisk(`{ ${prepare}; } && export MOUNT && ${process.execPath} ${program}`);
    assert.deepEqual([stdout, stderr], [`${kind}\n`, '']);
  });
