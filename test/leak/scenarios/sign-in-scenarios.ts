// The time in which a user signs in to a network: the rules let one helper out, while every other sender is at work.
import { renderElements, SIGN_IN, TABLE } from '../../../daemon/killswitch/rules/rules.ts';
import { HOSTS, SENDERS, UPLINK } from '../classes.ts';
import { control, enable, type Outcome, prove, type Scenario, type Stage } from '../stage.ts';

const { site4, site6, router4 } = HOSTS;
/** User of the helper, among those that systemd allocates. */
const HELPER = 61_999;
/** User of the senders. */
const SENDER = 54_321;
const PORT = 7800;
const SECONDS = 20;
const BEAT_MS = 1_000;

const ASKS = [
  { name: 'TCP over IPv4', how: 'tcp', to: site4, port: PORT },
  { name: 'TCP over IPv6', how: 'tcp', to: site6, port: PORT },
  { name: 'DNS of the link', how: 'udp', to: router4, port: 53 },
];

/** Lets a user out as the root service does, with each heartbeat, while the body runs and the tunnel is gone. */
async function during<T>({ rig }: Stage, uid: number, body: () => Promise<T>): Promise<T> {
  const serve = ASKS.map(({ how, to, port }) => ({ how, at: to, port }));
  const site = await rig.router.fixture('answers.py', [], `${JSON.stringify({ serve })}\n`);
  const elements = {
    [SIGN_IN.helpers]: [`${uid} . "${UPLINK}"`],
    [SIGN_IN.servers]: [`${uid} . "${UPLINK}" . ${router4}`],
  };
  const fill = () => rig.client.nft(renderElements(elements, TABLE));
  await rig.tunnel.kill();
  await fill();
  let beating = Promise.resolve();
  const timer = setInterval(() => {
    beating = beating.then(fill);
  }, BEAT_MS);
  try {
    return await body();
  } finally {
    clearInterval(timer);
    await beating;
    await site.end();
    await rig.tunnel.start();
  }
}

/** Ways by which the helper gets no answer. */
async function missed({ rig }: Stage): Promise<string[]> {
  const input = `${JSON.stringify({ uid: HELPER, asks: ASKS, seconds: SECONDS })}\n`;
  const program = await rig.client.fixture('answers.py', [], input);
  const { stdout, stderr, code } = await program.ended;
  if (code !== 0) throw new Error(`the helper: ${stderr}`);
  const answered = JSON.parse(stdout.trim().split('\n').at(-1)!) as string[];
  return ASKS.filter(({ name }) => !answered.includes(name)).map(({ name }) => `the helper got no answer: ${name}`);
}

export const SIGN_IN_SCENARIOS: readonly Scenario[] = [
  {
    name: 'sign-in',
    title: 'nothing but the helper leaves during a sign-in to a network',
    quick: true,
    async run(stage): Promise<Outcome> {
      await enable(stage);
      const transitions = stage.quick ? 3 : 60;
      return during(stage, HELPER, async () => {
        const proven = await prove(stage, { tunnel: false }, async watch => {
          const faults = await missed(stage);
          await watch.mark(); // the helper's own packets don't count
          for (let i = 0; i < transitions; i++) await watch.round();
          return { transitions, faults };
        });
        // the window was open until the end
        proven.faults.push(...(await missed(stage)));
        return proven;
      });
    },
  },
  {
    name: 'sign-in-control',
    title: 'senders whose user is the one that is let out are seen',
    control: true,
    quick: true,
    async run(stage) {
      await enable(stage);
      const wanted = new Set(
        SENDERS.filter(({ from, how, port }) => from === 'user' && how === 'tcp' && port !== 53 && port !== 853).map(
          ({ name }) => name,
        ),
      );
      return during(stage, SENDER, () =>
        control(stage, { wanted: name => wanted.has(name) }, async watch => {
          for (let i = 0; i < 3; i++) await watch.round();
          return 3;
        }),
      );
    },
  },
];
