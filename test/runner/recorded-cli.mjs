// Stands for `warp-cli` in a replay: answers each command line with its recorded run. recorded-cli.mjs TRANSCRIPT ARGUMENT…
import { readFileSync, writeSync } from 'node:fs';

const [file, ...argv] = process.argv.slice(2);
/** The same for both spellings of an option; the agreement to the terms changes no answer. */
const key = words =>
  words
    .filter(word => word !== '--accept-tos')
    .map(word => ({ '--json': '-j', '--listen': '-l' })[word] ?? word)
    .join(' ');
const rows = readFileSync(file, 'utf8')
  .split('\n')
  .filter(line => line.trim())
  .map(line => JSON.parse(line));
const row = rows.find(each => key(each.argv) === key(argv));
const isListener = argv.includes('-l');

if (!row) {
  writeSync(2, `error: unrecognized subcommand '${key(argv)}': it is not in the transcript\n`);
  process.exit(2);
}
writeSync(1, row.stdout);
writeSync(2, row.stderr);
// a recorded listener was ended; it goes on until the daemon of the replay ends
if (isListener && row.exit_code === null) setInterval(() => {}, 2 ** 30);
else process.exitCode = row.exit_code ?? (row.stderr && !row.stdout ? 1 : 0);
