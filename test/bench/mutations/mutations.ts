// The small mistakes that mutate.ts makes in a file: a comparison or condition turned round, a boolean flipped, a number
// plus one, && for ||.
import { parseSync } from 'oxc-parser';

export interface Mutation {
  /** Offsets of what is replaced, in UTF-16 units. */
  start: number;
  end: number;
  line: number;
  before: string;
  after: string;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [key: string]: unknown;
}

const OPPOSITE: Record<string, string> = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
};
/** TypeScript's nodes that hold an expression; all others are types, which tests cannot notice. */
const WRAPPERS = ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'];

/** Every mutation of a file, in the order of the text. */
export function mutationsOf(file: string, text: string): Mutation[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]!.message}`);
  const found: Mutation[] = [];
  const replace = (start: number, end: number, after: string) => {
    const before = text.slice(start, end);
    found.push({ start, end, line: text.slice(0, start).split('\n').length, before, after });
  };
  visit(program as unknown as Node, node => mutate(node, text, replace));
  return found.sort((a, b) => a.start - b.start);
}

function mutate(node: Node, text: string, replace: (start: number, end: number, after: string) => void): void {
  if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') {
    const { operator, left, right } = node as unknown as { operator: string; left: Node; right: Node };
    const opposite = OPPOSITE[operator];
    if (!opposite) return;
    const at = text.indexOf(operator, left.end);
    if (at < right.start) replace(at, at + operator.length, opposite);
  } else if (node.type === 'Literal' && typeof node.value === 'boolean') {
    replace(node.start, node.end, String(!node.value));
  } else if (node.type === 'Literal' && typeof node.value === 'number') {
    replace(node.start, node.end, String(node.value + 1));
  } else if (node.type === 'UnaryExpression' && node.operator === '!') {
    replace(node.start, node.start + 1, '!!');
  } else if (node.type === 'IfStatement' || node.type === 'ConditionalExpression') {
    const test = node.test as Node;
    // a comparison, a logical expression and a negation are turned round themselves
    if (!/^(Binary|Logical|Unary)Expression$/.test(test.type))
      replace(test.start, test.end, `!(${text.slice(test.start, test.end)})`);
  }
}

function visit(node: Node, each: (node: Node) => void): void {
  if (node.type.startsWith('TS') && !WRAPPERS.includes(node.type)) return;
  each(node);
  for (const [key, child] of Object.entries(node)) {
    if (key === 'typeAnnotation' || key === 'typeArguments') continue;
    for (const item of Array.isArray(child) ? child : [child])
      if (item && typeof item === 'object' && typeof (item as Node).type === 'string') visit(item as Node, each);
  }
}
