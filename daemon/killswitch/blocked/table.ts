// Loads, reads and removes the table that records, through a process of nft.
import { parseRecording, type Recording } from './entries.ts';
import { RECORDING_TABLE } from './recording.ts';

const REMOVAL = `delete table inet ${RECORDING_TABLE}`;
const ABSENT = 'No such file or directory';

/** A process of nft for the recording alone. `end` stops it; the next request starts another. */
export interface RecordingNft {
  ask(commands: string): Promise<string[]>;
  end(): void;
}

export function createTable(nft: RecordingNft) {
  /** Text of the table in the kernel; null without one. */
  let loaded: string | null = null;

  return {
    isLoaded: () => loaded !== null,
    /** @returns whether the table is new. @throws Error with nft's message */
    async load(text: string): Promise<boolean> {
      if (text === loaded) return false;
      const parts = text.split('\n').map(part => part.trim());
      const lines = await nft.ask(parts.filter(part => part !== '' && !part.startsWith('#')).join(';'));
      const error = errorIn(lines);
      if (error) throw new Error(`nft: ${error.replace(/^.*?Error: /, '')}`);
      const isNew = loaded === null;
      loaded = text;
      return isNew;
    },
    /** @returns null if another program removed the table. @throws Error */
    async read(): Promise<Recording | null> {
      const lines = await nft.ask(`list table inet ${RECORDING_TABLE}`);
      const recording = lines.map(line => (line.startsWith('{') ? parseRecording(line) : null)).find(Boolean);
      if (recording) return recording;
      const error = errorIn(lines) ?? 'no answer';
      if (!error.includes(ABSENT)) throw new Error(`nft: ${error}`);
      loaded = null;
      return null;
    },
    /** Also removes a table that an earlier service left. @throws Error */
    async remove(): Promise<void> {
      loaded = null;
      await nft.ask(REMOVAL);
      nft.end();
    },
  };
}

function errorIn(lines: readonly string[]): string | undefined {
  return lines.find(line => line.includes('Error: '));
}
