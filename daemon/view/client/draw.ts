// Defines how the daemon has the browser page's first state drawn.
import type { ConfigResponse, Snapshot } from '../../api/schema.ts';

export interface Drawing {
  snapshot: Snapshot;
  config: ConfigResponse;
  /** Tag (BCP 47) of the language, and the texts of the first page in it as JSON; null: English. */
  language: string;
  catalog: string | null;
}
/** @returns HTML for the element that the script takes over. */
export type Draw = (drawing: Drawing) => string;
