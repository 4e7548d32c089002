// Saves settings as a download, and applies them from a file of the user's choice.
import { SETTINGS_TASKS, type SettingsFileHost, type SettingsTask } from '../../view/settings-file.ts';
import type { App } from '../client/app.ts';
import { chooseText, saveText } from './files.ts';

/** @returns whether it was done. @throws ApiError, Unreachable */
export function runSettingsTask({ model, ask, toast, tr }: App, task: SettingsTask): Promise<boolean> {
  const host: SettingsFileHost = {
    model,
    open: chooseText,
    ask,
    toast,
    async save(file, text) {
      saveText(file, text);
      return true;
    },
  };
  return SETTINGS_TASKS[task](host, tr.value);
}
