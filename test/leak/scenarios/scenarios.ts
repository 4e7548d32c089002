// Changes around a client while its senders are at work: the tunnel, its uplinks and the rules come and go.
import { shippedEndpoints } from '../../../daemon/killswitch/rules/endpoints.ts';
import { until } from '../../support/until.ts';
import { FLOWS, SENDERS } from '../classes.ts';
import type { Watch } from '../measure.ts';
import { control, enable, prove, remove, type Scenario, type Stage } from '../stage.ts';

const flap = async ({ rig }: Stage, watch: Watch) => {
  await rig.tunnel.down();
  await watch.round();
  await rig.tunnel.up();
  await rig.tunnel.carries();
  await watch.round();
};
const replug = async ({ rig }: Stage, watch: Watch) => {
  await rig.plug();
  await rig.tunnel.down();
  await watch.round();
  await rig.tunnel.up();
  await watch.round();
  await rig.unplug();
  await rig.uplinkUp(); // its routes
};
const seesAll = (watch: Watch, names: readonly string[]) =>
  until(async () => {
    const leaks = await watch.leaks();
    return names.every(name => leaks.has(name));
  }, 'every class on the wire').catch(() => {}); // the verdict names the missing ones

export const NETWORK_SCENARIOS: readonly Scenario[] = [
  {
    name: 'control',
    title: 'without rules every class of sender leaks while the tunnel goes down and up',
    control: true,
    quick: true,
    async run(stage) {
      await remove(stage);
      const transitions = stage.quick ? 4 : 20;
      return control(stage, {}, async watch => {
        for (let i = 0; i < transitions; i++) await flap(stage, watch);
        await stage.rig.tunnel.down();
        await seesAll(
          watch,
          SENDERS.map(({ name }) => name),
        );
        await stage.rig.tunnel.up();
        return transitions;
      });
    },
  },
  {
    name: 'link',
    title: 'nothing leaks while the tunnel goes down and up',
    quick: true,
    async run(stage) {
      await enable(stage);
      const transitions = stage.quick ? 5 : 200;
      return prove(stage, { tunnel: true }, async watch => {
        for (let i = 0; i < transitions; i++) await flap(stage, watch);
        return { transitions };
      });
    },
  },
  {
    name: 'crash',
    title: 'nothing leaks while the tunnel’s process is killed and its device vanishes',
    quick: true,
    async run(stage) {
      await enable(stage);
      const transitions = stage.quick ? 2 : 100;
      return prove(stage, { tunnel: true }, async watch => {
        for (let i = 0; i < transitions; i++) {
          await stage.rig.tunnel.kill();
          await watch.round();
          await stage.rig.tunnel.start();
          await stage.rig.tunnel.carries();
          await watch.round();
        }
        return { transitions };
      });
    },
  },
  {
    name: 'uplink',
    title: 'nothing leaks while the uplink goes down and up, with what the kernel itself sends then',
    quick: true,
    async run(stage) {
      await enable(stage);
      const transitions = stage.quick ? 2 : 60;
      return prove(stage, { tunnel: true }, async watch => {
        for (let i = 0; i < transitions; i++) {
          await stage.rig.uplinkDown();
          await watch.round();
          await stage.rig.uplinkUp();
          await stage.rig.tunnel.carries();
          await watch.round();
        }
        return { transitions };
      });
    },
  },
  {
    name: 'better-uplink-control',
    title: 'without rules senders leak over a better uplink that appears',
    control: true,
    quick: true,
    async run(stage) {
      await remove(stage);
      const wanted = new Set(['tcp4', 'tcp6', 'udp4', 'udp6', 'root, udp4', 'forwarded, udp4', 'forwarded, udp6']);
      const before = (await stage.rig.better.report()).frames;
      const outcome = await control(stage, { wanted: name => wanted.has(name) }, async watch => {
        // the first packets wait for the address of the new router, or go where they went before
        const seen = async () => {
          const [leaks, { frames }] = [await watch.leaks(), await stage.rig.better.report()];
          return frames - before >= 100 && [...wanted].every(name => leaks.has(name));
        };
        let transitions = 0;
        do await replug(stage, watch);
        while (++transitions < 20 && !(await seen()));
        return transitions;
      });
      const frames = (await stage.rig.better.report()).frames - before;
      if (frames < 20) outcome.faults.push(`the method is broken: ${frames} frames on the better uplink`);
      return { ...outcome, notes: { 'frames on the better uplink': frames } };
    },
  },
  {
    name: 'better-uplink',
    title: 'nothing leaks over either uplink while a better one appears and goes',
    quick: true,
    async run(stage) {
      await enable(stage);
      const transitions = stage.quick ? 2 : 50;
      return prove(stage, { tunnel: false }, async watch => {
        for (let i = 0; i < transitions; i++) await replug(stage, watch);
        return { transitions };
      });
    },
  },
  {
    name: 'swap-control',
    title: 'rules removed and put back in two steps leak in between',
    control: true,
    quick: true,
    async run(stage) {
      await enable(stage);
      await stage.rig.tunnel.down();
      // membership reports keep their own time, and a gap this short may miss them
      const wanted = (name: string) =>
        SENDERS.some(sender => sender.name === name && sender.how === 'udp' && !sender.held);
      const outcome = await control(
        stage,
        { wanted: name => wanted(name) && !/link-local|answer/.test(name) },
        async watch => {
          let transitions = 0;
          for (; transitions < (stage.quick ? 15 : 50); transitions++) {
            await remove(stage);
            await enable(stage);
            await watch.round();
          }
          return transitions;
        },
      );
      await stage.rig.tunnel.up();
      return outcome;
    },
  },
  {
    name: 'swap',
    title: 'nothing leaks while the rules are replaced under load, and the local network opens only without DNS',
    quick: true,
    async run(stage) {
      await enable(stage);
      await stage.rig.tunnel.down();
      const transitions = stage.quick ? 18 : 700;
      const outcome = await prove(stage, { tunnel: false, allowLan: true }, async watch => {
        for (let i = 0; i < transitions; i++) {
          const endpoints = shippedEndpoints();
          // every second one shorter or longer, so that no two in a row are alike
          const extra = { cidr: `104.16.0.${i % 250}`, protocol: 'udp', ports: [2408] } as const;
          await enable(stage, { allowLan: i % 2 === 0, endpoints: i % 3 === 0 ? endpoints : [...endpoints, extra] });
          if (i % 2 === 0) await watch.round();
        }
        return { transitions };
      });
      await stage.rig.tunnel.up();
      if (!outcome.allowed?.['local network']) outcome.faults.push('the local network was never open');
      return outcome;
    },
  },
  {
    name: 'flows',
    title: 'connections that stood before enabling send nothing more, with the tunnel down and up',
    quick: true,
    async run(stage) {
      const { rig } = stage;
      const rounds = stage.quick ? 1 : 10;
      let sum: Awaited<ReturnType<typeof prove>> | undefined;
      for (let i = 0; i < rounds; i++) {
        await remove(stage);
        await rig.tunnel.down();
        const outcome = await prove(stage, { tunnel: false, senders: FLOWS }, async watch => {
          await seesAll(
            watch,
            FLOWS.map(({ name }) => name),
          );
          const leaks = await watch.leaks();
          const faults = FLOWS.filter(({ name }) => !leaks.has(name)).map(
            ({ name }) => `the method is broken: nothing was seen of ${name} before enabling`,
          );
          await enable(stage);
          await watch.mark();
          for (let j = 0; j < 5; j++) {
            await watch.round();
            await rig.tunnel.up();
            await watch.round();
            await rig.tunnel.down();
          }
          await watch.round();
          return { transitions: 1, faults };
        });
        // a flow that was reset tries nothing more
        outcome.faults = outcome.faults.filter(fault => !/^flow .* never tried$/.test(fault));
        sum = sum ? added(sum, outcome) : outcome;
        await rig.tunnel.up();
      }
      return sum!;
    },
  },
];

function added(a: Awaited<ReturnType<typeof prove>>, b: typeof a): typeof a {
  const leaks = { ...a.leaks };
  for (const [name, count] of Object.entries(b.leaks ?? {})) leaks[name] = (leaks[name] ?? 0) + count;
  return {
    ...b,
    leaks,
    transitions: a.transitions + b.transitions,
    attempts: a.attempts! + b.attempts!,
    leaked: a.leaked! + b.leaked!,
    seconds: a.seconds! + b.seconds!,
    drops: a.drops! + b.drops!,
    faults: [...a.faults, ...b.faults],
  };
}
