// Decides what an answer prints: text or JSON, the right stream, the exit code, and the faults that garble it.
import type { Answer } from './answer.ts';
import type { Globals } from './command-line/parse.ts';
import type { Faults } from './faults.ts';

/** The output and exit code of a command. */
export interface Output {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** @param command its words: `tunnel ip add` */
export function respond(answer: Answer, command: string, { json }: Globals, faults: Faults): Output {
  const say = (text: string, exitCode: number) => ({
    stdout: garbled(text, command, json, faults),
    stderr: '',
    exitCode,
  });
  const refuse = (stderr: string, exitCode: number) => ({ stdout: '', stderr, exitCode });
  switch (answer.kind) {
    case 'success':
      return say(json ? pretty({ status: 'Success' }) : 'Success\n', 0);
    case 'said':
      return say(json && answer.json !== null ? pretty(answer.json) : answer.text, 0);
    case 'not-emulated': {
      const what = answer.option ? `${command} --${answer.option}` : command;
      return refuse(`culvert-emulator: "${what}" is not emulated.\n`, 1);
    }
    case 'refused': {
      const { code, message, prefix = 'Error', daemon } = answer;
      const asked = faults.has('json-exit-0') !== null || faults.has('json-exit-1') !== null;
      // Without a service, 2026 answered in plain text even under -j; other captures have JSON.
      if (json && faults.has('text-errors') === null && (!daemon || asked))
        return say(pretty({ code, error: message }), faults.has('json-exit-1') !== null ? 1 : 0);
      return refuse(daemon ? `${message}\n\nMaybe the daemon is not running?\n` : `${prefix}: ${message}\n`, 1);
    }
  }
}

/** stdout as the faults `huge`, `unknown-output` and `cut` leave it. */
export function garbled(text: string, command: string, json: boolean, faults: Faults): string {
  let out = text;
  if (faults.strikes('unknown-output', command) !== null) out = json ? UNKNOWN_JSON : UNKNOWN_TEXT;
  const huge = faults.strikes('huge', command);
  if (huge !== null) out = `${'0123456789abcde\n'.repeat(Math.ceil(Number(huge || 2 ** 21) / 16))}${out}`;
  const cut = faults.strikes('cut', command);
  return cut === null ? out : out.slice(0, cut === '' ? Math.floor(out.length / 2) : Number(cut));
}

const UNKNOWN_TEXT = 'Tunnel condition: nominal\nPhase of the moon: waxing\n';
const UNKNOWN_JSON = '{"condition":"nominal","moon":{"phase":"waxing"}}\n';

const pretty = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
