// Makes one update in a separate process, so that it can be killed: node apply.cjs FORMAT VERSION SOURCE (HOME from the environment).
import { createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import { createState } from '../../../daemon/state/store.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { createUpdates, type UpdaterOptions } from '../../../daemon/update/update.ts';
import { keyId } from '../../../manifest/keys.ts';

const [format, version, source] = process.argv.slice(2) as [UpdaterOptions['format'], string, string];
const { env } = process;
const key = createPublicKey(env.TEST_KEY!);
const where = paths(env);

async function main() {
  const settings = await loadConfig(
    { system: join(env.HOME!, 'none.json'), user: where.userConfig },
    { CULVERT_UPDATES_SOURCE: source, CULVERT_UPDATES_CHECK_ON_STARTUP: 'false' },
  );
  const state = createState({ available: false, path: null, version: null, emulated: true });
  const prefix = join(env.HOME!, `.local/share/culvert/versions/${version}`);
  const context = { env, paths: where, settings, state, say() {}, restart() {} } as unknown as FeatureContext;
  const updates = createUpdates(context, {
    format,
    version,
    prefix,
    trust: () => ({ keys: [{ id: keyId(key), name: 'test', key }] }),
  });
  console.log(JSON.stringify(await updates.apply()));
}

main().catch((error: Error & { extras?: { reason?: string } }) => {
  console.error(error.extras?.reason ?? '', error.message);
  process.exitCode = 1;
});
