// The proof that the kill switch does not leak, as a program: a table for people, or JSON with --json.
// Run: ./culvert-tool leaktest [--quick] [--json] [SCENARIO…]
import { parseArgs } from 'node:util';
import { BOOT_SCENARIOS } from './boot.ts';
import { createGround } from './machine.ts';
import { missing } from './missing.ts';
import { createRig } from './rig.ts';
import { ALLOWED_SCENARIOS } from './scenarios/allowed-scenarios.ts';
import { FOREIGN_SCENARIOS } from './scenarios/foreign-scenarios.ts';
import { NETWORK_SCENARIOS } from './scenarios/scenarios.ts';
import { SERVICE_SCENARIOS } from './scenarios/service-scenarios.ts';
import { SIGN_IN_SCENARIOS } from './scenarios/sign-in-scenarios.ts';
import type { Outcome, Scenario } from './stage.ts';

const SCENARIOS: readonly Scenario[] = [
  ...NETWORK_SCENARIOS,
  ...ALLOWED_SCENARIOS,
  ...SIGN_IN_SCENARIOS,
  ...FOREIGN_SCENARIOS,
  ...SERVICE_SCENARIOS,
  ...BOOT_SCENARIOS,
];

/** Least numbers of a full run, all proofs together. */
const LEAST = { transitions: 1_000, attempts: 100_000, injections: 300 };

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean' }, json: { type: 'boolean' } },
  allowPositionals: true,
});
const unknown = positionals.filter(name => !SCENARIOS.some(scenario => scenario.name === name));
if (unknown.length) {
  console.error(`There is no scenario "${unknown[0]}". Known: ${SCENARIOS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
if (missing) {
  console.error(`The leak test ${missing}.`);
  process.exit(2);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
process.exitCode = (await main()) ? 0 : 1;

async function main(): Promise<boolean> {
  const quick = values.quick ?? false;
  const chosen = positionals.length
    ? SCENARIOS.filter(({ name }) => positionals.includes(name))
    : SCENARIOS.filter(scenario => !quick || scenario.quick);
  const done: { scenario: Scenario; outcome: Outcome; seconds: number }[] = [];
  const ground = createGround();
  try {
    const rig = await createRig(ground);
    for (const scenario of chosen) {
      const started = performance.now();
      const lacking = scenario.missing?.();
      if (lacking) {
        process.stderr.write(`skipped: ${scenario.name} ${lacking}\n`);
        continue;
      }
      if (!values.json) process.stderr.write(`${scenario.title} …\n`);
      const outcome = await scenario
        .run({ ground, rig, quick })
        .catch((error: Error): Outcome => ({ transitions: 0, faults: [error.message] }));
      done.push({ scenario, outcome, seconds: (performance.now() - started) / 1000 });
      if (!values.json) for (const fault of outcome.faults.slice(0, 20)) process.stderr.write(`  ✗ ${fault}\n`);
    }
  } finally {
    await ground.close();
  }

  const proofs = done.filter(({ scenario }) => !scenario.control).map(({ outcome }) => outcome);
  const total = {
    transitions: sum(proofs.map(({ transitions }) => transitions)),
    attempts: sum(proofs.map(({ attempts }) => attempts ?? 0)),
    injections: sum(proofs.map(({ injections }) => injections ?? 0)),
    leaked: sum(proofs.map(({ leaked }) => leaked ?? 0)),
    leakedUntilRepair: sum(proofs.map(({ leakedUntilRepair }) => leakedUntilRepair ?? 0)),
    drops: sum(done.map(({ outcome }) => outcome.drops ?? 0)),
  };
  const short =
    quick || positionals.length
      ? []
      : Object.entries(LEAST).flatMap(([what, least]) =>
          total[what as keyof typeof LEAST] < least ? [`fewer than ${least} ${what}`] : [],
        );
  const failed = done.filter(({ outcome }) => outcome.faults.length > 0).map(({ scenario }) => scenario.name);
  const ok = failed.length === 0 && short.length === 0 && done.length > 0;
  if (values.json) console.log(JSON.stringify({ ok, short, total, scenarios: done.map(plain) }, null, 1));
  else {
    console.log(table(done));
    console.log(
      `\nProofs: ${total.transitions} transitions, ${total.attempts} send attempts, ${total.injections} forced failures; ` +
        `${total.leaked} packets leaked, ${total.drops} frames lost by the captures.`,
    );
    if (total.leakedUntilRepair)
      console.log(`Between foreign flushes and their repair ${total.leakedUntilRepair} packets left.`);
    console.log(ok ? 'Passed.' : `Failed: ${[...failed, ...short].join(', ')}`);
  }
  return ok;
}

function plain({ scenario, outcome, seconds }: { scenario: Scenario; outcome: Outcome; seconds: number }) {
  return { scenario: scenario.name, title: scenario.title, control: scenario.control ?? false, ...outcome, seconds };
}

function table(done: readonly { scenario: Scenario; outcome: Outcome; seconds: number }[]): string {
  const head = ['', 'scenario', 'transitions', 'attempts', 'leaked', 'classes', 'seconds', ''];
  const rows = done.map(({ scenario, outcome, seconds }) => [
    outcome.faults.length ? '✗' : '✓',
    scenario.name,
    String(outcome.transitions),
    String(outcome.attempts ?? ''),
    String(outcome.leaked ?? ''),
    String(Object.keys(outcome.leaks ?? {}).length || ''),
    seconds.toFixed(0),
    [
      scenario.control ? 'must leak' : '',
      ...Object.entries(outcome.notes ?? {}).map(([key, value]) => `${value} ${key}`),
    ]
      .filter(Boolean)
      .join(', '),
  ]);
  const widths = head.map((word, i) => Math.max(word.length, ...rows.map(row => row[i]!.length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (i > 1 && i < 7 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}

function sum(counts: readonly number[]): number {
  return counts.reduce((a, b) => a + b, 0);
}
