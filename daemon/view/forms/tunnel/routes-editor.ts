// Describes the rows next to the route list's text: differences, presets, earlier lists and files.
import { type EditorState, missingEntries, type RoutesEditor } from '../../client/routes-editor.ts';
import { CONFIRM_SECONDS, type Form, noteRow, type Row, workCommand } from '../../form.ts';
import { formatCount, formatDate } from '../../format.ts';
import type { Host } from '../../host.ts';
import {
  causeName,
  differenceLines,
  differenceText,
  differenceTotal,
  presetName,
  routeWarning,
} from '../../states/routes.ts';
import { fill, type Translator } from '../../translator.ts';
import { underWay } from '../availability.ts';

/** Maximum number of lines of each kind in a difference: GTK needs a quarter of a millisecond to lay out a line. */
const SHOWN = 50;
/** Maximum number of entries that a preset's row names. */
const NAMED = 6;

/** @param settable false while the tunnel's state allows no change */
export function editorForm(
  editor: RoutesEditor,
  { settable, files }: { settable: boolean; files: Pick<Host, 'openText' | 'saveText'> },
  tr: Translator,
): Form {
  const state = editor.state();
  const { routes, busy } = state;
  if (!routes) return { groups: [] };
  if (routes.readOnly)
    return {
      groups: [
        {
          id: 'managed',
          rows: [noteRow('managed', tr._('Your organization manages this list'), tr._('It can only be read here.'))],
        },
      ],
    };
  const free = settable && busy === null;
  return {
    groups: [
      { id: 'difference', title: tr._('What would change'), rows: differenceRows(editor, free, tr) },
      { id: 'presets', title: tr._('Networks of this computer'), rows: presetRows(editor, free, tr) },
      { id: 'history', title: tr._('Earlier lists'), rows: historyRows(editor, free, tr) },
      { id: 'file', title: tr._('File'), rows: fileRows(editor, { free, files }, tr) },
    ],
  };
}

function differenceRows(editor: RoutesEditor, free: boolean, tr: Translator): Row[] {
  const { _ } = tr;
  const state = editor.state();
  const { preview, text, routes, busy } = state;
  const changed = text !== routes?.document;
  const lines = preview ? differenceLines(preview, tr, SHOWN) : [];
  const applicable = preview?.invalid.length === 0 && preview.add.length + preview.remove.length > 0;
  return [
    {
      kind: 'button',
      id: 'preview',
      title: preview ? differenceTotal(preview, tr) : _('No preview yet'),
      label: _('Preview'),
      sensitive: free,
      reason: underWay(tr),
      busy: busy === 'previewing',
      subtitle: preview ? null : _('Shows what the text would change. Nothing is set.'),
      command: workCommand(editor.preview),
    },
    ...(preview?.warnings ?? []).map((warning, at) =>
      noteRow(`warning-${at}`, _('Warning'), routeWarning(warning, tr), 'warning'),
    ),
    ...(lines.length
      ? [{ kind: 'text', id: 'lines', title: _('Difference'), text: differenceText(lines) } as const]
      : []),
    {
      kind: 'button',
      id: 'apply',
      title: _('Apply changes'),
      label: _('Apply'),
      style: 'suggested',
      subtitle:
        progressText(state, tr) ??
        // Translators: %s is a number of seconds
        fill(_('They revert after %s seconds unless you keep them.'), formatCount(CONFIRM_SECONDS, tr)),
      sensitive: free && applicable,
      reason: busy === null ? notApplicable(preview, tr) : underWay(tr),
      busy: busy === 'setting',
      command: workCommand(editor.apply),
    },
    ...(changed
      ? [
          {
            kind: 'button' as const,
            id: 'discard',
            title: _('Changes of the text'),
            label: _('Discard'),
            sensitive: busy === null,
            reason: underWay(tr),
            command: workCommand(async () => editor.discard()),
          },
        ]
      : []),
  ];
}

/** Explains why the text can't be applied. */
function notApplicable(preview: EditorState['preview'], { _ }: Translator): string {
  if (!preview) return _('Preview the text first.');
  return preview.invalid.length > 0 ? _('Correct the text first.') : _('The text changes nothing.');
}

/** Describes the progress while a list is being set; null otherwise. */
function progressText({ progress, busy }: EditorState, tr: Translator): string | null {
  if (!progress) return busy === 'setting' ? tr._('Setting the list…') : null;
  const counts = [progress.done, progress.total].map(count => formatCount(count, tr));
  return progress.phase === 'rolling-back'
    ? // Translators: two numbers of calls
      fill(tr._('A call failed. Restoring the previous list: %s of %s'), ...counts)
    : fill(tr._('Setting the list: %s of %s'), ...counts);
}

function presetRows(editor: RoutesEditor, free: boolean, tr: Translator): Row[] {
  const { _ } = tr;
  const state = editor.state();
  const presets = state.presets.filter(({ entries }) => entries.length > 0);
  if (!presets.length) return [noteRow('none', _('None found'))];
  return presets.map(({ id, entries }): Row => {
    const missing = missingEntries(state, id);
    const named = entries.slice(0, NAMED).map(({ value, source }) => `${value} (${source})`);
    const more = entries.length > NAMED ? ['…'] : [];
    return {
      kind: 'button',
      id: `preset-${id}`,
      title: presetName(id, tr),
      subtitle: [...named, ...more].join('\n'),
      label: missing.length ? _('Add to Text') : _('Listed'),
      sensitive: free && missing.length > 0,
      reason: missing.length > 0 ? underWay(tr) : _('The text has all of it.'),
      command: workCommand(async () => editor.addPreset(id)),
    };
  });
}

function historyRows(editor: RoutesEditor, free: boolean, tr: Translator): Row[] {
  const { _, ngettext } = tr;
  const { documents, routes } = editor.state();
  const before = documents.find(({ undo }) => undo);
  const undo: Row = {
    kind: 'button',
    id: 'undo',
    title: _('Last change'),
    label: _('Undo'),
    // Translators: %s is a date and time
    subtitle: before ? fill(_('Back to the list of %s'), formatDate(before.at, tr)) : _('There is no earlier list.'),
    sensitive: free && before !== undefined && routes !== null,
    reason: before && underWay(tr),
    command: workCommand(editor.undo),
  };
  const listed = documents.map(({ id, at, cause, entries, current }): Row => {
    const count = fill(ngettext('%d entry', '%d entries', entries), formatCount(entries, tr));
    return {
      kind: 'button',
      id: `document-${id}`,
      title: formatDate(at, tr),
      label: _('Open'),
      subtitle: [causeName(cause, tr), count, ...(current ? [_('set now')] : [])].join(' · '),
      sensitive: free,
      reason: underWay(tr),
      command: workCommand(() => editor.open(id)),
    };
  });
  return [undo, ...listed];
}

function fileRows(
  editor: RoutesEditor,
  { free, files }: { free: boolean; files: Pick<Host, 'openText' | 'saveText'> },
  tr: Translator,
): Row[] {
  const { _ } = tr;
  const load = async () => {
    const text = await files.openText();
    if (text !== null) editor.load(text);
  };
  return [
    {
      kind: 'button',
      id: 'import',
      title: _('Text from a file'),
      label: _('Import…'),
      sensitive: free,
      reason: underWay(tr),
      command: workCommand(load),
    },
    {
      kind: 'button',
      id: 'export',
      title: _('Text as a file'),
      label: _('Export…'),
      command: workCommand(async () => files.saveText('culvert-routes.txt', editor.state().text)),
    },
  ];
}
