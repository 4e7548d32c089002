// Defines the pages of the split tunnel: the list as text.
import { createRoutesEditor } from '../client/routes-editor.ts';
import type { Group } from '../form.ts';
import { editorForm } from '../forms/tunnel/routes-editor.ts';
import { pageTitle } from '../page-list.ts';
import { type Page, reading } from './page.ts';

/** The list as text: the field, and below it what the text would change, presets and earlier lists. */
export const editorPage: Page = (host, changed) => {
  const editor = createRoutesEditor(host.model, changed);
  const lists = reading(host, changed, { read: () => editor.read().catch(host.showError) });
  return {
    form(view) {
      lists.now(view);
      const tr = host.tr();
      const { text, routes, busy } = editor.state();
      const field: Group = {
        id: 'text',
        description: tr._(
          'One address, range, host or difference such as 10.0.0.0/8 - 10.1.2.0/24 a line; # begins a comment.',
        ),
        rows: [
          {
            kind: 'area',
            id: 'text',
            title: pageTitle('editor', tr),
            text,
            sensitive: routes !== null && !routes.readOnly && busy !== 'setting',
            type: editor.type,
          },
        ],
      };
      const { groups } = editorForm(editor, { settable: view.tunnel.settable, files: host }, tr);
      return { groups: [field, ...groups] };
    },
    shown: lists.shown,
    close() {
      lists.close();
      editor.close();
    },
  };
};
