// Describes the updates page.

import { clientCommand, type Form, type Row } from '../form.ts';
import { formatDate } from '../format.ts';
import type { UpdateView } from '../states/updates.ts';
import { fill, type Translator } from '../translator.ts';
import { underWay } from './availability.ts';

/** @param waiting the pending request, until an event reports it */
export function updatesForm(
  view: UpdateView,
  { offline, waiting }: { offline: boolean; waiting: 'check' | 'change' | null },
  tr: Translator,
): Form {
  const { _ } = tr;
  const free = !offline && waiting === null && view.progress === null;
  const reason = underWay(tr);
  const rows: Row[] = [
    {
      kind: 'button',
      id: 'check',
      title: view.outcome ?? _('Not checked yet'),
      label: _('Check'),
      subtitle: checkedText(view, tr),
      sensitive: free,
      reason,
      busy: waiting === 'check',
      command: clientCommand('check-update'),
    },
  ];
  if (view.progress) rows.push({ kind: 'note', id: 'progress', title: view.progress.text });
  if (view.applicable)
    rows.push({
      // Translators: %s is a version
      kind: 'button',
      id: 'apply',
      title: fill(_('Install Culvert %s'), view.latest ?? ''),
      label: _('Install'),
      subtitle: _('Culvert restarts. The tunnel stays as it is.'),
      style: 'suggested',
      sensitive: free,
      reason,
      busy: waiting === 'change',
      command: clientCommand('apply-update'),
    });
  if (view.previous !== null)
    rows.push({
      // Translators: %s is a version
      kind: 'button',
      id: 'roll-back',
      title: fill(_('Roll back to Culvert %s'), view.previous),
      label: _('Roll Back…'),
      sensitive: free,
      reason,
      command: clientCommand('roll-back', {
        confirm: {
          heading: fill(_('Roll back to Culvert %s?'), view.previous),
          body: _('Culvert restarts. The tunnel stays as it is.'),
          accept: _('Roll Back'),
          destructive: true,
        },
      }),
    });
  return {
    groups: [
      {
        id: 'versions',
        rows: [
          { kind: 'fact', id: 'current', title: _('Installed version'), value: view.current },
          { kind: 'fact', id: 'channel', title: _('Channel'), value: view.channel },
        ],
      },
      { id: 'updates', rows },
      ...(view.command
        ? [
            {
              id: 'command',
              title: _('In a terminal'),
              rows: [{ kind: 'shell', id: 'shell', title: _('Run this:'), shell: view.command } as const],
            },
          ]
        : []),
    ],
  };
}

function checkedText({ checkedAt, problem }: UpdateView, tr: Translator): string | null {
  if (problem !== null) return problem;
  // Translators: %s is a date and time
  return checkedAt === null ? null : fill(tr._('Checked on %s'), formatDate(checkedAt, tr));
}
