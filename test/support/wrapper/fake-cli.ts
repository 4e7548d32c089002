// A command-line tool with accounts, as most tests of what people do need it.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Sandbox, sandbox } from './sandbox.ts';

/** The tool: writes down its key and arguments, and fails as its key says. */
export const FAKE = `#!/bin/sh
echo "$FAKE_KEY $*" >> "$HOME/calls"
case "$FAKE_KEY" in
  bad*) echo "Error: quota" >&2; exit 1 ;;
  net*) exit 1 ;;
esac
case "$1" in
  -) cat ;;
  wrong) echo "usage: fake" >&2; exit 2 ;;
esac
echo ok
`;
const RULES = `auth_command = "auth"
inject = ["FAKE_KEY"]
stdin_args = ["-"]
[[providers.fake.rules]]
class = "usage"
exit = [2]
[[providers.fake.rules]]
class = "quota"
stderr = "^Error: quota"
`;

/** A sandbox with a tool that prints its key and what it was given, and fails as its key says. @param keys of its accounts, by name */
export function setUp(t: Parameters<typeof sandbox>[0], keys: Record<string, string> = {}): Sandbox {
  const box = sandbox(t);
  box.script('fake', FAKE);
  box.provider('fake', RULES);
  if (Object.keys(keys).length > 0) box.accounts('fake', keys);
  else box.install('fake');
  return box;
}

/** The keys that are stored in a file. */
export const stored = (box: Sandbox) => fs.readFileSync(path.join(box.config, 'secrets/fake.env'), 'utf8');

/** The tool's runs, one a line: its key, then its arguments. */
export const calls = (box: Sandbox) =>
  fs.existsSync(path.join(box.home, 'calls'))
    ? fs.readFileSync(path.join(box.home, 'calls'), 'utf8').trim().split('\n')
    : [];
