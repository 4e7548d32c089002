// Settings as a file: applied after the difference was shown, exported, undone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SETTINGS_TASKS } from '../../../../daemon/view/pages/settings-file.ts';
import { scripted } from '../../../support/gnome/view/forms.ts';
import { tr } from '../../../support/gnome/view/translator.ts';

const DIFF = { ok: true, changes: [{ key: 'tunnel.mode', from: 'warp', to: 'doh' }], skipped: [], invalid: [] };

function transfer(diff: object, { file = 'x' as string | null, agrees = true } = {}) {
  const daemon = scripted({
    'GET /api/settings/export': { ok: true, toml: 'mode = "warp"\n' },
    'POST /api/settings/diff': { ...DIFF, ...diff },
  });
  const shown: string[] = [];
  const host = {
    model: daemon,
    tr: () => tr,
    openText: async () => file,
    saveText: async (name: string, text: string) => shown.push(name, text) > 0,
    answer: async ({ text }: { text?: string }) => {
      shown.push(text ?? '');
      return agrees ? [] : null;
    },
    toast: (text: string) => void shown.push(text),
  };
  return { host, shown, lines: () => daemon.asked.map(([line]) => line), asked: daemon.asked };
}

test('a file of settings is applied only after its difference was agreed to, and reverts unless kept', async () => {
  const { host, shown, asked } = transfer({ skipped: [{ key: 'tunnel.x', reason: 'is not known' }] });
  assert.equal(await SETTINGS_TASKS['apply-settings'](host), true);
  assert.equal(shown[0], '* tunnel.mode: warp -> doh\n  left out: tunnel.x is not known');
  assert.deepEqual(asked.at(-1), [
    'POST /api/settings/apply',
    { body: { toml: 'x', confirmWithin: 30, allowDemo: true } },
  ]);
});

for (const [what, given] of Object.entries({
  'was not chosen': transfer({}, { file: null }),
  'was not agreed to': transfer({}, { agrees: false }),
  'changes nothing': transfer({ changes: [] }),
}))
  test(`a file of settings that ${what} is not applied`, async () => {
    await SETTINGS_TASKS['apply-settings'](given.host);
    assert.ok(!given.lines().includes('POST /api/settings/apply'));
  });

test('a file of settings with mistakes is not applied, and says which', async () => {
  const { host, lines } = transfer({ invalid: [{ key: 'tunnel.mode', reason: 'is not a mode' }] });
  await assert.rejects(SETTINGS_TASKS['apply-settings'](host), /! tunnel\.mode: is not a mode/);
  assert.deepEqual(lines(), ['POST /api/settings/diff']);
});

test('settings are saved under a name that says what they are, and the last file is undone', async () => {
  const { host, shown, asked } = transfer({});
  assert.equal(await SETTINGS_TASKS['export-settings'](host), true);
  assert.deepEqual(shown, ['culvert-settings.toml', 'mode = "warp"\n', 'Saved']);
  await SETTINGS_TASKS['undo-settings'](host);
  assert.deepEqual(asked.at(-1), ['POST /api/settings/undo', { body: { confirmWithin: 30 } }]);
});
