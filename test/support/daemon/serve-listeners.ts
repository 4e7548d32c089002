// Serves the listeners over a tunnel that only records, in a separate process, until stdin ends.
import { startListeners } from './listeners.ts';

const ends: (() => Promise<void>)[] = [];
const { port, socket } = await startListeners({ after: end => ends.push(end) });
process.stdout.write(JSON.stringify({ port, socket }));
process.stdin.resume();
process.stdin.once('end', () => void Promise.all(ends.map(end => end())).then(() => process.exit(0)));
