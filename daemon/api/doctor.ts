// Defines the doctor in the contract: check results, fixes, and the most likely cause of a failing tunnel.
import * as z from 'zod/mini';
import { ACTION_NAMES } from './actions.ts';
import { Empty, type EndpointTable, tunnelProblems } from './endpoint.ts';
import { Message, Time } from './values.ts';

/** `unknown`: the check could not be completed; its evidence says why. */
const Verdict = z.enum(['ok', 'notice', 'problem', 'unknown', 'not-applicable']);
export type Verdict = z.infer<typeof Verdict>;

const CheckGroup = z.enum(['tunnel', 'dns', 'network', 'service', 'culvert', 'desktop']);
export type CheckGroup = z.infer<typeof CheckGroup>;

const Label = {
  /** Button label, such as `Exclude these ranges`. */
  label: z.string(),
  /** The label in translatable form; absent in older versions. */
  wording: z.optional(Message),
};
/** Arguments of `culvert-repair fix`, if it can make the same change: a name, then its parameters. */
const Repair = z.optional(z.array(z.string()));
/** A fix that replaces a file. Clients show `diff` to the user. */
const FileFix = z.object({
  kind: z.literal('file'),
  ...Label,
  path: z.string(),
  diff: z.string(),
  /** The whole new text; absent for an existing file that `repair` changes. */
  content: z.optional(z.string()),
  /** True if only an administrator can write the file. */
  privileged: z.boolean(),
  /** The unit to restart so that it reads the file. */
  restart: z.optional(z.string()),
  repair: Repair,
});
/** A fix that runs commands, each given as its arguments, without a shell. */
const CommandFix = z.object({
  kind: z.literal('commands'),
  ...Label,
  commands: z.array(z.array(z.string())),
  /** Commands that undo the change; empty if it can't be undone. */
  undo: z.array(z.array(z.string())),
  privileged: z.boolean(),
  repair: Repair,
});
const ActionStep = z.object({ action: z.enum(ACTION_NAMES), value: z.optional(z.string()) });
/** A fix that performs actions of `POST /api/action`. */
const ActionFix = z.object({
  kind: z.literal('action'),
  ...Label,
  actions: z.array(ActionStep),
  undo: z.array(ActionStep),
});
/** A fix on a page for the user's browser. */
const OpenFix = z.object({ kind: z.literal('open'), ...Label, url: z.string() });
export const Fix = z.discriminatedUnion('kind', [FileFix, CommandFix, ActionFix, OpenFix]);
export type Fix = z.infer<typeof Fix>;

/** Evidence and explanation in translatable form; absent in older versions. */
const Wording = z.optional(
  z.object({
    /** A message for each line. */
    evidence: z.array(Message),
    /** Consecutive sentences. */
    explanation: z.array(Message),
  }),
);

export const CheckResult = z.object({
  /** Stable identifier, such as `dns-port-53`. */
  id: z.string(),
  title: z.string(),
  group: CheckGroup,
  verdict: Verdict,
  /** Observations, one line each. */
  evidence: z.array(z.string()),
  /** Meaning of the evidence; null if it speaks for itself. */
  explanation: z.nullable(z.string()),
  wording: Wording,
  fix: z.nullable(Fix),
  /** Identifies the fix as shown; `POST /api/doctor/fix` refuses a fix that has changed. */
  fixId: z.nullable(z.string()),
  /** A page that describes the fact behind the check. */
  source: z.nullable(z.string()),
  /** Versions and systems that the check applies to; null for all. */
  appliesTo: z.nullable(z.string()),
  durationMs: z.number(),
});
export type CheckResult = z.infer<typeof CheckResult>;

const Undoable = z.object({
  id: z.string(),
  ...Label,
  at: Time,
  /** Set if `culvert-repair` made the change, so only an administrator can undo it. */
  administrator: z.optional(z.literal(true)),
});
/** A fix that can be undone; `id` is its check's id. */
export type Undoable = z.infer<typeof Undoable>;

export const DoctorReport = z.object({
  ok: z.literal(true),
  generatedAt: Time,
  /** Results sorted as problem, unknown, notice, ok, not-applicable. */
  results: z.array(CheckResult),
  /** Fixes that `culvert doctor undo` would revert, newest first. */
  undo: z.array(Undoable),
  durationMs: z.number(),
  /** Child processes that the checks started. */
  processes: z.int(),
});
export type DoctorReport = z.infer<typeof DoctorReport>;

/**
 * Data of the `doctor` event, sent at the start, as each check ends, and at the end with `running: false`. A fix and its
 * undo send only the first and the last event; the last carries the check's new result.
 */
export const DoctorProgress = z.object({
  running: z.boolean(),
  completed: z.int(),
  total: z.int(),
  result: z.nullable(CheckResult),
  /** Fixes that can be reverted, newest first; null before the end. */
  undo: z.nullable(z.array(Undoable)),
});
export type DoctorProgress = z.infer<typeof DoctorProgress>;

/** The most likely cause of a tunnel that fails or carries nothing, as the cheap checks found it. */
export const Diagnosis = z.object({
  id: z.string(),
  title: z.string(),
  evidence: z.array(z.string()),
  explanation: z.nullable(z.string()),
  wording: Wording,
  fix: z.nullable(Fix),
  fixId: z.nullable(z.string()),
  source: z.nullable(z.string()),
  at: Time,
});
export type Diagnosis = z.infer<typeof Diagnosis>;

/** `only` lists the ids of checks; without it, all checks run. */
export const DoctorRequest = z.strictObject({
  only: z.optional(z.array(z.string().check(z.regex(/^[a-z0-9-]{1,64}$/))).check(z.minLength(1), z.maxLength(64))),
  online: z.optional(z.boolean()),
});
export type DoctorRequest = z.infer<typeof DoctorRequest>;

/** `fixId` comes from the result that the user saw. */
export const DoctorFixRequest = z.strictObject({
  id: z.string().check(z.minLength(1), z.maxLength(64)),
  fixId: z.string().check(z.minLength(1), z.maxLength(128)),
});
export type DoctorFixRequest = z.infer<typeof DoctorFixRequest>;

/** `result` is measured after the fix; null if this version no longer has the check. */
export const DoctorFixResponse = z.object({
  ok: z.literal(true),
  /** Steps of the fix, one line each. */
  done: z.array(z.string()),
  result: z.nullable(CheckResult),
});
export type DoctorFixResponse = z.infer<typeof DoctorFixResponse>;

/** Output of `culvert diagnose`: redacted files, to review before sharing. */
export const DoctorBundle = z.object({
  ok: z.literal(true),
  files: z.array(z.object({ name: z.string(), text: z.string() })),
  /** Number of different values that placeholders replace, by kind. */
  redacted: z.record(z.string(), z.int()),
  /** The files as a ZIP archive, in Base64. */
  archive: z.string(),
});
export type DoctorBundle = z.infer<typeof DoctorBundle>;

export const doctorEndpoints = {
  'POST /api/doctor': {
    summary: 'Run the checks; each result also comes as a `doctor` event. Nothing leaves this machine without `online`',
    body: DoctorRequest,
    response: DoctorReport,
    problems: ['not-found'],
  },
  'POST /api/doctor/fix': {
    summary: 'Apply the fix of a check as it was shown; the reply has the result of the check afterwards',
    body: DoctorFixRequest,
    response: DoctorFixResponse,
    problems: ['not-found', 'precondition-failed', 'fix-needs-administrator', 'fix-failed', ...tunnelProblems],
  },
  'POST /api/doctor/undo': {
    summary: 'Undo the last fix',
    body: Empty,
    response: DoctorFixResponse,
    problems: ['fix-failed', ...tunnelProblems],
  },
  'POST /api/doctor/bundle': {
    summary:
      'A report to share: results of the checks, versions, state, configuration and command log, redacted. Nothing is sent anywhere',
    body: Empty,
    response: DoctorBundle,
  },
} as const satisfies EndpointTable;
