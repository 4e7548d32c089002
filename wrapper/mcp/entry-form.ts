// Translates an entry between the field names of its client and the usual ones: `command`, `args`, `env`, `url`, `headers`.
import { isRecord, isText } from '../../daemon/core/shape.ts';
import type { FieldNames } from './client-list.ts';

type Fields = Record<string, unknown>;

/** Marks a field with a usual name to which the client gives another name, so that nothing reads it. */
const UNUSED = '\0';
/** A header for a bearer token that the client reads from a variable. */
const FROM_VARIABLE = /^Bearer \$\{(\w+)\}$/;

/** An entry with the usual names. */
export interface UsualEntry {
  fields: Fields;
  /** Translates changed fields to the entry's own form. */
  back(changed: Fields): Fields;
}

/** Returns an entry with the usual names. A command may be one list with its arguments, or a separate table. */
export function usualEntry(entry: Fields, names: FieldNames = {}): UsualEntry {
  const { bearer, ...renamed } = names;
  const own = Object.entries(renamed);
  const usualName = (name: string) =>
    own.find(([, theirs]) => theirs === name)?.[0] ?? (Object.hasOwn(renamed, name) ? UNUSED + name : name);
  const theirName = (name: string) =>
    name.startsWith(UNUSED) ? name.slice(1) : (own.find(([usual]) => usual === name)?.[1] ?? name);
  const fields = rename(entry, usualName);
  const token = bearer === undefined ? undefined : fields[bearer];
  const isBearer = isText(token) && /^\w+$/.test(token) && fields.headers === undefined;
  const withHeader = isBearer
    ? replaceField(fields, bearer!, { headers: { Authorization: `Bearer \${${token}}` } })
    : fields;
  const whole = wholeCommand(withHeader);
  return {
    fields: whole.fields,
    back(changed) {
      const fromVariable = isRecord(changed.headers) ? variableIn(changed.headers) : undefined;
      const unwrapped = whole.back(changed);
      const withBearer =
        bearer !== undefined && fromVariable !== undefined
          ? replaceField(unwrapped, 'headers', { [bearer]: fromVariable })
          : unwrapped;
      return rename(withBearer, theirName);
    },
  };
}

/** Returns the variable of a bearer token, if the headers have nothing else. */
function variableIn(headers: Fields): string | undefined {
  const { Authorization: value, ...others } = headers;
  return isText(value) && Object.keys(others).length === 0 ? FROM_VARIABLE.exec(value)?.[1] : undefined;
}

function wholeCommand(fields: Fields): UsualEntry {
  const { command } = fields;
  if (Array.isArray(command) && command.length > 0 && command.every(isText)) {
    const [program, ...args] = command;
    // separate arguments are not those of the list, and stay where they are
    const others = rename(replaceField(fields, 'command', { command: program }), name =>
      name === 'args' ? UNUSED + name : name,
    );
    return {
      fields: { ...others, args },
      back: ({ args: after, ...changed }) =>
        replaceField(changed, 'command', { command: [changed.command, ...(Array.isArray(after) ? after : [])] }),
    };
  }
  if (isRecord(command) && isText(command.path)) {
    const { path, ...others } = command;
    const inside = new Set([...Object.keys(others), 'args', 'env']);
    return {
      fields: { ...replaceField(fields, 'command', { command: path }), ...others },
      back: changed => {
        const moved = Object.entries(changed).filter(([name]) => inside.has(name));
        const left = Object.fromEntries(Object.entries(changed).filter(([name]) => !inside.has(name)));
        const ordered = inOrder({ path: changed.command, ...Object.fromEntries(moved) }, command, 'path');
        return replaceField(left, 'command', { command: ordered });
      },
    };
  }
  // the caller changes the fields
  const original = { ...fields };
  return { fields, back: changed => inOrder(changed, original, 'command') };
}

/** Returns fields in the order of the original, with new ones before the command. */
function inOrder(changed: Fields, original: Fields, command: string): Fields {
  const added = Object.keys(changed).filter(name => !Object.hasOwn(original, name));
  const kept = Object.keys(original).filter(name => Object.hasOwn(changed, name));
  const names = kept.flatMap(name => (name === command ? [...added, name] : [name]));
  const all = names.length === Object.keys(changed).length ? names : [...kept, ...added];
  return Object.fromEntries(all.map(name => [name, changed[name]]));
}

function rename(fields: Fields, nameOf: (name: string) => string): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [nameOf(name), value]));
}

/** Replaces one field with others at the same place. */
function replaceField(fields: Fields, name: string, others: Fields): Fields {
  const entries = Object.entries(fields).flatMap(([each, value]) =>
    each === name ? Object.entries(others) : [[each, value] as const],
  );
  return Object.fromEntries(entries);
}
