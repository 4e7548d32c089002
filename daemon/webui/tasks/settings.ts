// Settings as a file: saved as a download, and applied from a file of the user's choice.
import type { ClientTask } from '../../view/forms/form.ts';
import { applySettings, exportSettings, type SettingsHands, undoSettings } from '../../view/settings-file.ts';
import type { App } from '../client/app.ts';
import { chooseText, saveText } from './files.ts';

const TASKS = { 'export-settings': exportSettings, 'apply-settings': applySettings, 'undo-settings': undoSettings };
export type SettingsTask = keyof typeof TASKS & ClientTask;

/** @returns whether it was done. @throws ApiError, Unreachable */
export function runSettingsTask({ model, ask, toast, tr }: App, name: SettingsTask): Promise<boolean> {
  const hands: SettingsHands = {
    model,
    open: chooseText,
    ask,
    toast,
    async save(file, text) {
      saveText(file, text);
      return true;
    },
  };
  return TASKS[name](hands, tr.value);
}
