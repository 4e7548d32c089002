// Takes the place of the program `culvert` in a desktop, and reports the words it was started with.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Desktop } from './desktop.ts';

export function standInForCulvert({ directory, prefix }: Desktop) {
  const started = join(directory, 'started');
  const program = join(prefix, 'bin', 'culvert');
  const before = existsSync(program) ? readFileSync(program) : null;
  mkdirSync(join(prefix, 'bin'), { recursive: true });
  rmSync(program, { force: true }); // it may be shared with other tests
  rmSync(started, { force: true });
  writeFileSync(program, `#!/bin/sh\nprintf %s "$*" >'${started}'\n`, { mode: 0o755 });
  return {
    /** Empty before it was started. */
    words: () => (existsSync(started) ? readFileSync(started, 'utf8') : ''),
    end() {
      rmSync(program, { force: true });
      if (before) writeFileSync(program, before, { mode: 0o755 });
    },
  };
}
