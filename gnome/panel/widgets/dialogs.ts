// Shows commands' questions in dialogs, opens and saves files, and shows problem reports.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { App } from '../../../daemon/api/schema.ts';
import type { Question } from '../../../daemon/view/form.ts';
import { type ReportView, reportView } from '../../../daemon/view/report.ts';
import { fill } from '../../../daemon/view/translator.ts';
import { _, tr } from '../../i18n.ts';
import { culvertProgram } from '../../install-paths.ts';
import type { WindowHost } from '../host.ts';
import { setDescription, setName } from './accessible.ts';
import { commandBox } from './buttons.ts';
import { vertical } from './columns.ts';
import { ask } from './compat.ts';

/** Asks a question; resolves with the texts that the user typed, or with null if the user declined. */
export async function answerOf(
  { window, open }: Pick<WindowHost, 'window' | 'open'>,
  { heading, body, accept, destructive, links, text, secrets = [], field }: Question,
): Promise<string[] | null> {
  const fields = [...(field ? [field] : []), ...secrets.map(label => ({ label }))];
  const typed = fields.length ? createFields(fields) : null;
  if (typed && links) typed.widget.append(linkBox(links, open));
  const answer = await ask(window, {
    heading,
    body,
    responses: [
      ['cancel', _('Cancel')],
      ['accept', accept],
    ],
    ...(destructive ? { destructive: 'accept' } : { suggested: 'accept' }),
    ...(links ? { extra: linkBox(links, open) } : text ? { extra: preformatted(text) } : {}),
    ...(typed ? { extra: typed.widget, gate: typed.gate, focus: typed.first } : {}),
  });
  return answer === 'accept' ? (typed?.values() ?? []) : null;
}

/** Creates an entry for each text; an entry without a check is secret. Each needs a text that passes its check. */
function createFields(fields: readonly (Partial<NonNullable<Question['field']>> & { label: string })[]) {
  const widget = vertical(6);
  const rows = fields.map(({ label, placeholder = '', check }) => {
    const common = { activates_default: true, hexpand: true };
    const entry = check
      ? new Gtk.Entry({ ...common, placeholder_text: placeholder })
      : new Gtk.PasswordEntry({ ...common, show_peek_icon: true });
    setName(entry, label);
    widget.append(new Gtk.Label({ label, xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] }));
    widget.append(entry);
    // its place is always there, so that the dialog does not jump
    const wrong = new Gtk.Label({ xalign: 0, wrap: true, visible: check !== undefined, css_classes: ['error'] });
    widget.append(wrong);
    return { entry, wrong, check };
  });
  /** Shows what is wrong; true if every text can be accepted. */
  const isComplete = () => {
    const problems = rows.map(({ entry, wrong, check }) => {
      const text = entry.text.trim();
      wrong.label = (text && check?.(text)) || '';
      setDescription(entry, wrong.label);
      return text === '' || wrong.label !== '';
    });
    return !problems.includes(true);
  };
  return {
    widget,
    first: rows[0]!.entry,
    values: () => rows.map(({ entry }) => entry.text.trim()),
    gate(allow: (allowed: boolean) => void) {
      for (const { entry } of rows) entry.connect('changed', () => allow(isComplete()));
      allow(isComplete());
    },
  };
}

/** Asks which of these apps get an entry in the app menu, all of them by default. */
export async function offerApps(window: Gtk.Window, apps: readonly App[]): Promise<readonly App[]> {
  const list = new Gtk.ListBox({ selection_mode: Gtk.SelectionMode.NONE, css_classes: ['boxed-list'] });
  const checks = apps.map(({ name }) => {
    const check = new Gtk.CheckButton({ active: true, valign: Gtk.Align.CENTER });
    // the row names the check box
    const row = new Adw.ActionRow({ title: name, use_markup: false, activatable_widget: check });
    row.add_prefix(check);
    list.append(row);
    return check;
  });
  const answer = await ask(window, {
    heading: _('Only chosen apps are tunneled'),
    body: _('Add these to the app menu, started in the tunnel?'),
    responses: [
      ['later', _('Not Now')],
      ['make', _('Add')],
    ],
    suggested: 'make',
    extra: list,
  });
  return answer === 'make' ? apps.filter((_app, i) => checks[i]!.active) : [];
}

/** Creates links to web pages, one below the other. */
function linkBox(links: { label: string; uri: string }[], open: (uri: string) => void): Gtk.Widget {
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, halign: Gtk.Align.CENTER });
  for (const { label, uri } of links) {
    const link = new Gtk.LinkButton({ label, uri });
    link.connect('activate-link', () => {
      open(uri);
      return true;
    });
    box.append(link);
  }
  return box;
}

/** Creates a selectable label that keeps its lines and wraps long ones, such as for a diff. */
export function preformatted(label = ''): Gtk.Label {
  const text = new Gtk.Label({
    label,
    xalign: 0,
    selectable: true,
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    css_classes: ['monospace', 'caption'],
  });
  // commands and diffs run from left to right in every language
  text.set_direction(Gtk.TextDirection.LTR);
  return text;
}

/** Shows the command that installs the new version, for when the daemon can't install it. */
export async function showUpdateCommand(host: WindowHost): Promise<void> {
  const { update } = host.model.state();
  if (!update?.command) return;
  await ask(host.window, {
    heading: fill(_('Culvert %s is available'), update.latest ?? ''),
    body: _('Update it the way it was installed, with this system’s packages.'),
    extra: commandBox(_('Run this:'), update.command, () => host.toast(_('Copied'))),
    responses: [['ok', _('OK')]],
  });
}

/** Maximum size of a text file, in bytes; no handwritten list is larger. */
const MAX_FILE_BYTES = 4_000_000;

/** @returns true if the user chose a place and the text was saved. @throws GLib.Error if the file can't be written. */
export function saveText(parent: Gtk.Window, name: string, text: string): Promise<boolean> {
  return saveBytes(parent, name, new TextEncoder().encode(text));
}

/** Saves bytes as `saveText` saves text. */
async function saveBytes(parent: Gtk.Window, name: string, bytes: Uint8Array): Promise<boolean> {
  const file = await choose(parent, Gtk.FileChooserAction.SAVE, name);
  if (!file) return false;
  file.replace_contents(bytes, null, false, Gio.FileCreateFlags.PRIVATE, null);
  return true;
}

/** Returns the text of a file that the user chooses, or null. @throws Error if the file is not text, GLib.Error */
export async function openText(parent: Gtk.Window): Promise<string | null> {
  const file = await choose(parent, Gtk.FileChooserAction.OPEN, null);
  if (!file) return null;
  const [, bytes] = file.load_contents(null);
  if (bytes.length > MAX_FILE_BYTES) throw new Error(_('This file is too large.'));
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

function choose(parent: Gtk.Window, action: Gtk.FileChooserAction, name: string | null): Promise<Gio.File | null> {
  // GtkFileDialog requires 4.10
  const dialog = new Gtk.FileChooserNative({ transient_for: parent, modal: true, action });
  if (name) dialog.set_current_name(name);
  const documents = GLib.get_user_special_dir(GLib.UserDirectory.DIRECTORY_DOCUMENTS);
  if (name && documents) dialog.set_current_folder(Gio.File.new_for_path(documents));
  return new Promise(resolve => {
    dialog.connect('response', (_dialog, response) => {
      resolve(response === Gtk.ResponseType.ACCEPT ? dialog.get_file() : null);
      dialog.destroy();
    });
    dialog.show();
  });
}

/** Maximum number of displayed characters: a long text takes seconds to lay out. The saved file is complete. */
const SHOWN = 20_000;

/** Shows the report's contents, and saves the report if the user agrees. Sends nothing. */
export async function showReport(host: WindowHost): Promise<void> {
  if (host.view().client.offline) {
    const program = culvertProgram() ?? 'culvert';
    throw new Error(
      `${_('Culvert’s background service isn’t running.')} ${_('In a terminal:')} ${program} diagnose --out report.zip`,
    );
  }
  host.toast(_('Preparing the report…'));
  const bundle = await host.model.call('POST /api/doctor/bundle', { body: {} });
  const view = reportView(bundle, tr);
  const answer = await ask(host.window, {
    heading: _('Report a problem'),
    body: `${_('It is not sent anywhere: look through it, save it, and attach it yourself.')} ${view.redacted}`,
    extra: preview(view),
    responses: [
      ['close', _('Close')],
      ['save', _('Save…')],
    ],
    suggested: 'save',
  });
  if (answer === 'save' && (await saveBytes(host.window, view.fileName, GLib.base64_decode(bundle.archive))))
    host.toast(_('Saved'));
}

/** Creates a preview in which each file unfolds below its name, and only then gets its text. */
function preview({ files }: ReportView): Gtk.Widget {
  const box = vertical(6);
  box.add_css_class('culvert-entry');
  for (const { name, about, text } of files) {
    const expander = new Gtk.Expander({ label: `${name} · ${about}` });
    setName(expander, `${name} · ${about}`);
    expander.connect('notify::expanded', () => {
      if (expander.expanded) expander.child ??= preformatted(text.length > SHOWN ? `${text.slice(0, SHOWN)}\n…` : text);
    });
    box.append(expander);
  }
  const scrolled = new Gtk.ScrolledWindow({
    child: box,
    height_request: 260,
    hscrollbar_policy: Gtk.PolicyType.NEVER,
    css_classes: ['card'],
  });
  setName(scrolled, _('Report'));
  return scrolled;
}
