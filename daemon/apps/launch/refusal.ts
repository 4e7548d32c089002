// Reads why `culvert run` started no program, or what that lacks, where no terminal shows it.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { Problem as Document } from '../../api/schema.ts';
import { Message } from '../../api/values.ts';
import { Problem } from '../../problem.ts';
import { readText } from '../../system/files.ts';
import { message } from '../../view/message.ts';

/** Refusal of the command line itself, whose code is no code of a problem. */
const Report = z.object({ detail: z.string(), hint: z.optional(z.string()) });

const Limits = z.object({ limits: z.array(Message) });

/** @param directory where only this user writes */
export function openRefusal(directory: string) {
  const own = mkdtempSync(join(directory, 'start-'));
  const file = join(own, 'refusal');
  return {
    /** Environment for `culvert run --json`. */
    env: { CULVERT_REPORT: file },
    /** The refusal so far; null without one. @param name the app's */
    read: (name: string) => parseRefusal(readText(file) ?? '', name),
    /** Limits of a program that was started. */
    limits(): Message[] {
      const { success, data } = Limits.safeParse(parseJson(readText(file) ?? ''));
      return success ? data.limits : [];
    },
    close: () => rmSync(own, { recursive: true, force: true }),
  };
}

function parseRefusal(text: string, name: string): Problem | null {
  if (!text.trim()) return null;
  const json = parseJson(text);
  const { success, data } = Document.safeParse(json);
  if (success) return new Problem(data.code, data.wording?.[0] ?? data.detail, data.hint ? { hint: data.hint } : {});
  const report = Report.safeParse(json);
  const { detail, hint } = report.success ? report.data : parseLines(text);
  return new Problem('app-launch-failed', message('%s did not start. %s', name, detail), hint ? { hint } : {});
}

/** Refusal of the script, which knows no JSON. */
function parseLines(text: string): z.infer<typeof Report> {
  const [detail = '', ...rest] = text.trim().split('\n');
  return { detail: detail.replace(/^culvert: /, ''), hint: rest.join(' ') };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
