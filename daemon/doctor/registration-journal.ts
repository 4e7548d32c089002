// Searches the journal of WARP's service for the cause of a missing registration, for the daemon's state.
import type { Snapshot } from '../api/schema.ts';
import type { Paths } from '../system/paths.ts';
import type { JournalCause } from '../warp/registration.ts';
import { knowledgeOf, redactorFor } from './gather.ts';
import { readRawJournal, redactLine, registrationIn } from './world/journal.ts';
import { createTools } from './world/tools.ts';

interface Options {
  env: NodeJS.ProcessEnv;
  paths: Paths;
  snapshot: Snapshot | null;
  signal?: AbortSignal;
}

/** Returns the cause; null without one, or if this user may not read the journal. Never rejects. */
export async function readRegistrationJournal({ env, paths, snapshot, signal }: Options): Promise<JournalCause | null> {
  const tools = createTools({ env, signal: signal ?? new AbortController().signal });
  const knowledge = knowledgeOf(paths, env);
  try {
    const found = registrationIn(await readRawJournal(tools), knowledge.patterns, { now: Date.now() });
    if (!found) return null;
    const { text } = await redactLine({ at: null, text: found.line }, redactorFor(snapshot, knowledge));
    return { ...found, line: text };
  } catch {
    return null; // the other evidence still counts
  }
}
