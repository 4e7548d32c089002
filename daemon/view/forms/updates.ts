// Describes the updates page: the newest result with its button, then the installed version and the way back.
import { clientCommand, type Form, type MenuButton, type Row, type Status } from '../form.ts';
import { formatDate } from '../format.ts';
import type { UpdateView } from '../states/updates.ts';
import { fill, type Translator } from '../translator.ts';
import { underWay } from './availability.ts';

interface UpdatesClient {
  offline: boolean;
  /** The pending request, until an event reports it. */
  waiting: 'check' | 'change' | null;
}

export function updatesForm(view: UpdateView, { offline, waiting }: UpdatesClient, tr: Translator): Form {
  const { _ } = tr;
  const free = !offline && waiting === null && view.progress === null;
  const rows: Row[] = [
    { kind: 'fact', id: 'current', title: _('Installed version'), value: view.current },
    { kind: 'fact', id: 'channel', title: _('Channel'), value: view.channel },
  ];
  if (view.command) rows.push({ kind: 'shell', id: 'shell', title: _('In a terminal'), shell: view.command });
  if (view.previous !== null) rows.push(rollBackRow(view.previous, free, tr));
  return { status: statusOf(view, { free, waiting }, tr), groups: [{ id: 'versions', rows }] };
}

function statusOf(
  view: UpdateView,
  { free, waiting }: { free: boolean; waiting: UpdatesClient['waiting'] },
  tr: Translator,
): Status {
  const { _ } = tr;
  const { outcome, problem, progress, hasSource, latest, applicable, checkedAt } = view;
  const isNewer = applicable || view.command !== null || progress !== null;
  const look: Pick<Status, 'icon' | 'tone'> =
    problem !== null
      ? { icon: 'culvert-mark-problem-symbolic', tone: 'warning' }
      : !isNewer && hasSource && checkedAt !== null
        ? { icon: 'culvert-mark-fine-symbolic', tone: 'success' }
        : { icon: 'culvert-updates-symbolic', tone: isNewer ? 'accent' : 'neutral' };
  const check: MenuButton = { label: _('Check'), sensitive: free, command: clientCommand('check-update') };
  const install: MenuButton = {
    label: _('Install'),
    style: 'suggested',
    // Translators: %s is a version
    name: fill(_('Install Culvert %s'), latest ?? ''),
    sensitive: free,
    command: clientCommand('apply-update'),
  };
  const sentence = problem ?? (applicable ? _('Culvert restarts. The tunnel stays as it is.') : null);
  const line =
    progress ??
    // Translators: %s is a date and time
    (hasSource && checkedAt !== null ? fill(_('Checked on %s'), formatDate(checkedAt, tr)) : null);
  return {
    ...look,
    title: progress ? fill(_('Culvert %s is being installed'), latest ?? '') : (outcome ?? _('Not checked yet')),
    sentence: sentence ?? line,
    // without a line, the page keeps no room for one
    ...(sentence !== null && { line }),
    buttons: hasSource ? [...(applicable || progress !== null ? [install] : []), check] : [],
    waiting: waiting === 'check' ? _('Checking…') : waiting === 'change' ? underWay(tr) : null,
  };
}

function rollBackRow(previous: string, sensitive: boolean, tr: Translator): Row {
  const { _ } = tr;
  return {
    // Translators: %s is a version
    kind: 'button',
    id: 'roll-back',
    title: fill(_('Roll back to Culvert %s'), previous),
    label: _('Roll Back…'),
    sensitive,
    reason: underWay(tr),
    command: clientCommand('roll-back', {
      confirm: {
        heading: fill(_('Roll back to Culvert %s?'), previous),
        body: _('Culvert restarts. The tunnel stays as it is.'),
        accept: _('Roll Back'),
        destructive: true,
      },
    }),
  };
}
