// Measures what enabling the kill switch costs: the root service's answer, against nft with the same rules and nothing else, in
// turn. Exits 1 when a bar is not met. Needs root. Run: ./culvert-tool bench killswitch [rounds]
import { shippedEndpoints } from '../../daemon/killswitch/rules/endpoints.ts';
import { render } from '../../daemon/killswitch/rules/rules.ts';
import { createGround } from '../leak/machine.ts';
import { missing } from '../leak/missing.ts';
import { missingForService } from '../leak/scenarios/service-scenarios.ts';
import { createHost } from '../leak/service.ts';
import { quiet } from './support/quiet.ts';
import { median, note, report, roundsOf } from './support/report.ts';

const rounds = roundsOf(40);
const BAR = 3;

const lacking = missing || missingForService;
if (lacking) {
  console.log(`skipped: the kill switch ${lacking}`);
  process.exit();
}
await measure();

async function measure(): Promise<void> {
  const ground = createGround();
  try {
    // apart from each other: the service repairs the changes of a foreign nft
    const [plain, client] = [await ground.machine(), await ground.machine()];
    const host = await createHost({ ground, rig: { client } });
    const service = await host.start();
    const all = shippedEndpoints();
    const [bare, enabling]: [number[], number[]] = [[], []];
    // the first round makes nft and the service warm; each round has other rules than the last
    for (let round = -1; round < rounds; round++) {
      const endpoints = round % 2 ? all : all.slice(1);
      const rules = render({ allowLan: false, endpoints });
      // five processes have a part in the answer, one in nft's: whatever else runs takes from the five only
      await quiet();
      const nft = await timed(() => plain.nft(rules));
      const enable = await timed(async () => {
        if (!(await service.call('Enable', false, endpoints))?.active) throw new Error('the service did not enable');
      });
      if (round < 0) continue;
      bare.push(nft);
      enabling.push(enable);
    }
    await host.close(service);
    const ratio = median(enabling.map((ms, i) => ms / bare[i]!));
    report('enabling, against a bare nft -f of the same rules', ratio, BAR, '×');
    note('nft -f -', median(bare), 'ms');
    note('Enable on the bus', median(enabling), 'ms');
  } finally {
    await ground.close();
  }
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  return performance.now() - started;
}
