// A command-line tool with accounts, as most tests of what people do need it.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Sandbox, sandbox } from './sandbox.ts';

const NOTES = '#!/bin/sh\necho "$FAKE_KEY $*" >> "$HOME/calls"\n';
/** The tool: writes down its key and arguments, and fails as its key says. */
export const FAKE = `${NOTES}case "$FAKE_KEY" in
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

interface Tool {
  /** A script, or the lines after those that write a run down. */
  script?: string;
  rules?: string;
  config?: string;
}

/** A sandbox with a tool that prints its key and what it was given, and fails as its key says. @param keys of its accounts, by name */
export function setUp(
  t: Parameters<typeof sandbox>[0],
  keys: Record<string, string> = {},
  { script = FAKE, rules = RULES, config = '' }: Tool = {},
): Sandbox {
  const box = sandbox(t);
  box.script('fake', script.startsWith('#!') ? script : `${NOTES}${script}`);
  box.provider('fake', rules);
  if (Object.keys(keys).length > 0) box.accounts('fake', keys);
  else box.install('fake');
  if (config) box.configure(config);
  return box;
}

/** The keys that are stored in a file. */
export const stored = (box: Sandbox) => fs.readFileSync(path.join(box.config, 'secrets/fake.env'), 'utf8');

/** The tool's runs, one a line: its key, then its arguments. */
export const calls = (box: Sandbox) =>
  fs.existsSync(path.join(box.home, 'calls'))
    ? fs.readFileSync(path.join(box.home, 'calls'), 'utf8').trim().split('\n')
    : [];
