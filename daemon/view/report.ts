// Describes a problem report for the user to review before sharing it.
import type { DoctorBundle } from '../api/doctor.ts';
import { formatBytes, formatCount } from './format.ts';
import { fill, type Translator } from './translator.ts';

export interface ReportView {
  /** Says how much data placeholders replaced. */
  redacted: string;
  files: {
    name: string;
    /** Contents and size of the file. */
    about: string;
    text: string;
  }[];
  /** File name that the save dialog suggests for the archive. */
  fileName: string;
}

/** Describes everything that would be shared. File contents are in English, for the recipients. */
export function reportView({ files, redacted }: Pick<DoctorBundle, 'files' | 'redacted'>, tr: Translator): ReportView {
  const { _, ngettext } = tr;
  const about: Record<string, string> = {
    'doctor.json': _('Results of the checks'),
    'versions.json': _('Versions of Culvert, WARP and the system'),
    'snapshot.json': _('State, settings and routes'),
    'configuration.json': _('Configuration of Culvert'),
    'command-log.json': _('Commands given to WARP, with their output'),
    'timeline.json': _('Changes of the state in the last week'),
    'history.json': _('Memory of the service over time, and fixes'),
    'contents.txt': _('List of contents'),
  };
  const replaced = Object.values(redacted).reduce((sum, count) => sum + count, 0);
  return {
    redacted: replaced
      ? // Translators: %d is how many different names, addresses and keys there were
        fill(
          ngettext(
            '%d name, address or key was replaced by a placeholder.',
            '%d names, addresses and keys were replaced by placeholders.',
            replaced,
          ),
          formatCount(replaced, tr),
        )
      : _('There was nothing to replace with placeholders.'),
    files: files.map(({ name, text }) => ({
      name,
      text,
      about: [about[name], formatBytes(text.length, tr)].filter(Boolean).join(' · '),
    })),
    fileName: 'culvert-report.zip',
  };
}
