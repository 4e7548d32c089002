// Collects code that wrapped commands seldom need. The build splits it off, because its parsing would cost each run 5 ms.
export { noteText } from '../run/rules/refusal-causes.ts';
export { compile, writePlan } from './compile.ts';
export { confirmRefusal } from './confirm.ts';
export { chooseByDirectory } from './directory.ts';
export { postpone } from './queue.ts';
export { refreshUsage, reportCapacity, runWarning, sleepUntil } from './refresh.ts';
export { lineRepl } from './repl.ts';
