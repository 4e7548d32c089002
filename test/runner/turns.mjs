// Gives the event loop a turn after each test: `node:test` reports nothing between tests that only wait for children
// synchronously, and the runner finds no progress in their file.
import { afterEach } from 'node:test';

const nextTurn = setImmediate; // before a test replaces it
afterEach(() => new Promise(done => nextTurn(done)));
