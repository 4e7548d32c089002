// Exports settings to a file, applies a file after showing its changes, and undoes that, for every client.
import type { SettingsDiff } from '../../api/settings-file.ts';
import type { Model } from '../client/model.ts';
import { CONFIRM_SECONDS } from '../form.ts';
import type { Host } from '../host.ts';
import { worded } from '../message.ts';
import { differenceText } from '../states/routes.ts';
import { fill, type Translator } from '../translator.ts';

interface SettingsLine {
  kind: 'invalid' | 'change' | 'skipped';
  /** One character before the text. */
  mark: string;
  text: string;
}

/** Returns lines for a file's mistakes, its changes, and its settings that this machine lacks. */
export function settingsLines({ changes, skipped, invalid }: SettingsDiff, tr: Translator): SettingsLine[] {
  const { _ } = tr;
  const why = ({ reason, wording }: SettingsDiff['invalid'][number]) => worded(reason, wording && [wording], tr);
  return [
    ...invalid.map((each): SettingsLine => ({ kind: 'invalid', mark: '!', text: `${each.key}: ${why(each)}` })),
    ...changes.map(({ key, from, to }): SettingsLine => {
      const before = from === null ? '' : `${from} -> `;
      return { kind: 'change', mark: '*', text: `${key}: ${before}${to ?? '–'}` };
    }),
    // Translators: a setting of a file that this computer does not have, and why
    ...skipped.map(
      (each): SettingsLine => ({
        kind: 'skipped',
        mark: ' ',
        text: fill(_('left out: %s %s'), each.key, why(each)),
      }),
    ),
  ];
}

type SettingsHost = Pick<Host, 'tr' | 'openText' | 'saveText' | 'answer' | 'toast'> & { model: Pick<Model, 'call'> };

/** Resolves with true if the file was saved. @throws ApiError, Unreachable, like the tasks below */
async function exportSettings({ model, saveText, toast, tr }: SettingsHost): Promise<boolean> {
  const { toml } = await model.call('GET /api/settings/export');
  const saved = await saveText('culvert-settings.toml', toml);
  if (saved) toast(tr()._('Saved'));
  return saved;
}

/** Shows the changes of a file and applies them; settings of the tunnel revert unless the user confirms them. */
async function applySettings(host: SettingsHost): Promise<boolean> {
  const { model, openText, answer, toast } = host;
  const tr = host.tr();
  const { _ } = tr;
  const toml = await openText();
  if (toml === null) return false;
  const difference = await model.call('POST /api/settings/diff', { body: { toml } });
  const text = differenceText(settingsLines(difference, tr));
  if (difference.invalid.length) throw new Error(`${_('This file has mistakes, so nothing is changed.')}\n${text}`);
  if (!difference.changes.length) {
    toast(_('Nothing differs'));
    return true;
  }
  const agreed = await answer({
    heading: _('Apply these settings?'),
    body: [
      ...(difference.fromDemo ? [_('This file was exported from a demo, and does not describe a machine.')] : []),
      // Translators: %s is a number of seconds
      fill(_('Settings of the tunnel revert after %s seconds unless you keep them.'), CONFIRM_SECONDS),
    ].join(' '),
    accept: _('Apply'),
    text,
  });
  if (!agreed) return false;
  await model.call('POST /api/settings/apply', { body: { toml, confirmWithin: CONFIRM_SECONDS, allowDemo: true } });
  toast(_('Settings applied'));
  return true;
}

/** Restores the settings from before the last file. */
async function undoSettings({ model, toast, tr }: SettingsHost): Promise<boolean> {
  await model.call('POST /api/settings/undo', { body: { confirmWithin: CONFIRM_SECONDS } });
  toast(tr()._('The previous settings are restored'));
  return true;
}

/** Each task resolves with true if it was done. @throws ApiError, Unreachable */
export const SETTINGS_TASKS = {
  'export-settings': exportSettings,
  'apply-settings': applySettings,
  'undo-settings': undoSettings,
};
