// Judges the installed tools, a few in parallel, and says what would change each.
import type { TrustTool } from '../api/trust.ts';
import { wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';
import { type Plan, type Planning, planChange } from './changes.ts';
import { type Judgment, judge, type Organization } from './judge.ts';
import { extraFile } from './lists.ts';
import type { Site } from './online.ts';
import type { Probe } from './probe.ts';
import { BROWSERS } from './tools/browsers.ts';
import { CONNECTING } from './tools/connecting.ts';
import { STORES, unreached } from './tools/places.ts';
import { findProgram, type Look, type Tool } from './tools/tool.ts';

/** More would only compete for two cores. */
const AT_ONCE = 3;

export const TOOLS: readonly Tool[] = [...CONNECTING, ...BROWSERS, ...STORES];

export interface JudgingAll extends Omit<Planning, 'system'> {
  look: Look;
  probe: Probe;
  organization: Organization;
  site: Site | null;
  /** Only these tools; all without it. */
  ids: readonly string[] | undefined;
}

/** Verdicts on the tools that are here, in the order of the table. */
export async function judgeTools(judging: JudgingAll): Promise<TrustTool[]> {
  const { look, ids } = judging;
  const waiting = [...TOOLS.filter(({ id }) => ids?.includes(id) ?? true).entries()];
  const results: (TrustTool | null)[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [at, tool] = next;
      const program = findProgram(tool.programs, look.env);
      const isHere = program !== null || tool.programs.length === 0;
      const judgment = isHere ? await judge(tool, program ?? '', judging) : null;
      results[at] = judgment ? describe(tool, { program, judgment, judging }) : null;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return [...results.flatMap(result => result ?? []), ...unreached(look, ids)];
}

interface Judged {
  program: string | null;
  judgment: Judgment;
  judging: JudgingAll;
}

function describe(tool: Tool, { program, judgment: { verdict, reasons, lacks }, judging }: Judged): TrustTool {
  const { look, session, journal, directory, organization } = judging;
  const wanted = lacks ? tool.wanted?.(look, lacks) : undefined;
  const plan: Plan = lacks && wanted ? planChange(wanted, lacks, { ...judging, system: look.system }) : { changes: [] };
  const wording = 'occupied' in plan ? [...reasons, plan.occupied] : reasons;
  const steps = journal.tools[tool.id];
  return {
    id: tool.id,
    title: tool.title,
    program,
    verdict,
    reasons: wording.map(each => wordMessage(each, english)),
    wording,
    applied: steps !== undefined,
    newSessions: steps?.some(step => step.kind === 'variable' && session.env[step.name] !== step.value) ?? false,
    changes: 'changes' in plan ? plan.changes : [],
    administrator: lacks
      ? organization.valid.flatMap(({ source, fingerprint }) => {
          const name = `organization-${fingerprint.replaceAll(':', '').slice(0, 8).toLowerCase()}`;
          return tool.administrator?.(source ?? extraFile(directory), name, look) ?? [];
        })
      : [],
  };
}
