// Renders the routes as text: the field, and below it what the text would change, presets and earlier lists.
import { useSignal } from '@preact/signals';
import { useEffect, useId, useMemo } from 'preact/hooks';
import { createRoutesEditor } from '../../../view/client/routes-editor.ts';
import { editorForm } from '../../../view/forms/tunnel/routes-editor.ts';
import { useApp } from '../../client/app.ts';
import { FormView } from '../../widgets/rows/form.tsx';

export function EditorPage() {
  const app = useApp();
  const { _ } = app.tr.value;
  const id = useId();
  const changes = useSignal(0);
  const editor = useMemo(() => createRoutesEditor(app.host.model, () => changes.value++), []);
  void changes.value; // drawn again after each
  const { text, routes, busy } = editor.state();
  const { client, tunnel } = app.view.value;
  const { settable } = tunnel;
  const here = client.snapshot !== null && !client.offline;
  useEffect(() => {
    if (here) editor.read().catch(app.host.showError);
  }, [here]);
  useEffect(() => editor.close, []);
  return (
    <>
      <p id={`${id}-about`} class="description">
        {_('One address, range, host or difference such as 10.0.0.0/8 - 10.1.2.0/24 a line; # begins a comment.')}
      </p>
      <textarea
        autocapitalize="none"
        autocomplete="off"
        spellcheck={false}
        rows={12}
        aria-label={_('Edit as Text')}
        aria-describedby={`${id}-about`}
        readOnly={routes === null || routes.readOnly || busy === 'setting'}
        value={text}
        onInput={event => editor.type(event.currentTarget.value)}
      />
      <FormView form={editorForm(editor, { settable, files: app.host }, app.tr.value)} />
    </>
  );
}
