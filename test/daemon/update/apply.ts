// One update in a process of its own, so that it can be killed: node apply.cjs FORMAT VERSION SOURCE (HOME from the environment).
import { createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { loadConfig } from '../../../daemon/config.ts';
import type { Ground } from '../../../daemon/features.ts';
import { paths } from '../../../daemon/paths.ts';
import { createState } from '../../../daemon/state.ts';
import { createUpdates, type Means } from '../../../daemon/update/update.ts';
import { keyId } from '../../../manifest/keys.ts';

const [format, version, source] = process.argv.slice(2) as [Means['format'], string, string];
const { env } = process;
const key = createPublicKey(env.TEST_KEY!);
const where = paths(env);

async function main() {
  const settings = await loadConfig(
    { system: '/nonexistent', user: where.userConfig },
    { CULVERT_UPDATES_SOURCE: source, CULVERT_UPDATES_CHECK_ON_STARTUP: 'false' },
  );
  const state = createState({ available: false, path: null, version: null, emulated: true });
  const prefix = join(env.HOME!, `.local/share/culvert/versions/${version}`);
  const ground = { env, paths: where, settings, state, say() {}, restart() {} } as unknown as Ground;
  const updates = createUpdates(ground, {
    format,
    version,
    prefix,
    keys: () => [{ id: keyId(key), name: 'test', key }],
  });
  console.log(JSON.stringify(await updates.apply()));
}

main().catch((error: Error & { extras?: { reason?: string } }) => {
  console.error(error.extras?.reason ?? '', error.message);
  process.exitCode = 1;
});
