// The listening child against scripted CLIs: its messages arrive without delay, and it is replaced however it ends.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Ended, Pace } from '../../../../daemon/warp/listen/listener.ts';
import { createWatch, type Form } from '../../../../daemon/warp/listen/watch.ts';
import { alive, folder } from '../../../support/daemon/fake-cli.ts';
import { until } from '../../../support/until.ts';

const PAUSES = { first: 20, longest: 160, goodLife: 200 };
const HOURS = { first: 3_600_000, longest: 3_600_000, goodLife: 3_600_000 };

function setup(
  t: test.TestContext,
  body: string,
  {
    form = 'json',
    acceptTerms = false,
    pauses = PAUSES,
    pace,
  }: { form?: Form; acceptTerms?: boolean; pauses?: typeof PAUSES; pace?: Pace } = {},
) {
  const place = folder();
  const file = place.script('warp-cli', `echo "$$ $*" >> ${place.path}/runs\n${body.replaceAll('DIR', place.path)}`);
  const messages: string[] = [];
  const arrivals: number[] = [];
  const ends: Ended[] = [];
  const silences: number[] = [];
  let polls = 0;
  let changed = false;
  const watch = createWatch({
    env: { PATH: process.env.PATH },
    onMessage: text => {
      arrivals.push(performance.now());
      messages.push(text);
    },
    onIdle: () => silences.push(performance.now()),
    onEnd: ended => ends.push(ended),
    poll: () => {
      polls += 1;
      return Promise.resolve(changed);
    },
    pauses,
    ...(pace ? { pace } : {}),
  });
  t.after(async () => {
    await watch.stop();
    place.remove();
  });
  watch.listen({ file, form, acceptTerms });
  const runs = () => place.read('runs').split('\n').filter(Boolean);
  return { place, watch, messages, arrivals, ends, silences, runs, polls: () => polls, change: () => (changed = true) };
}

const pidOf = (run: string | undefined) => Number(run?.split(' ')[0]);
const argvOf = (run: string | undefined) => run?.split(' ').slice(1).join(' ');

test('every line of the child is a message, and the child stays', async t => {
  const { messages, runs, watch } = setup(
    t,
    `echo '{"status":"Connecting"}'; echo '{"status":"Connected"}'; exec sleep 60`,
  );
  await until(() => messages.length === 2);
  assert.deepEqual(messages, ['{"status":"Connecting"}', '{"status":"Connected"}']);
  assert.deepEqual(runs().map(argvOf), ['-j -l status']);
  assert.equal(watch.form(), 'json');
  await watch.spoken();
});

test('terms are accepted only on request', async t => {
  const { runs } = setup(t, 'exec sleep 60', { form: 'text', acceptTerms: true });
  await until(() => runs().length === 1);
  assert.equal(argvOf(runs()[0]), '--accept-tos -l status');
});

test('a child that ends is started again, after pauses that grow', async t => {
  const { ends, runs } = setup(t, 'echo nope >&2; exit 1');
  await until(() => runs().length >= 4);
  assert.equal(ends[0]?.stderr, 'nope\n');
  assert.equal(ends[0]?.exitCode, 1);
});

test('after a good life the first pause applies again', async t => {
  // Six short lives bring the pause to 3,200 ms, then comes a life beyond goodLife.
  const { place, runs } = setup(
    t,
    `n=$(wc -l < DIR/runs)
    [ $n -lt 7 ] && exit 1
    [ $n = 7 ] && sleep 1 && date +%s%3N > DIR/ended && exit 1
    date +%s%3N > DIR/again; exec sleep 60`,
    { pauses: { first: 50, longest: 60_000, goodLife: 900 } },
  );
  await until(() => place.read('again'));
  assert.equal(runs().length, 8);
  const paused = Number(place.read('again')) - Number(place.read('ended'));
  assert.ok(paused < 3_000, `paused for ${paused} ms`);
});

test('listens to a CLI without JSON in text, and polls a CLI that does not know -l', async t => {
  const { runs, watch, polls } = setup(
    t,
    `case "$*" in
      *-j*) echo "error: unexpected argument '-j' found" >&2; exit 2;;
      *) echo "error: unexpected argument '-l' found" >&2; exit 1;;
    esac`,
  );
  await until(() => watch.form() === 'poll');
  assert.deepEqual(runs().map(argvOf), ['-j -l status', '-l status']);
  await until(() => polls() >= 2);
});

test('a CLI that answers and leaves instead of listening is polled', async t => {
  const { runs, watch, polls } = setup(t, 'echo "Status update: Connected"', { form: 'text' });
  await until(() => watch.form() === 'poll');
  assert.equal(runs().length, 2);
  await until(() => polls() >= 1);
});

test('a retry ends the pause', async t => {
  const { runs, watch, ends } = setup(t, 'exit 1', { pauses: HOURS });
  await until(() => ends.length === 1);
  watch.retry();
  await until(() => runs().length === 2);
});

test('a service that answers hastens one try', async t => {
  const { watch, ends } = setup(t, 'exit 1', { pauses: HOURS });
  await until(() => ends.length === 1);
  assert.equal(watch.hasten(), true);
  assert.equal(watch.hasten(), false, 'it is being started');
  await until(() => ends.length === 2);
  assert.equal(watch.hasten(), false, 'it waits for the end of the pause');
  watch.retry();
  await until(() => ends.length === 3);
});

test('a service that answers hastens another try after a good life', async t => {
  const { watch, ends } = setup(t, 'exit 1', { pauses: { ...HOURS, goodLife: 0 } });
  for (let lives = 1; lives < 4; lives++) {
    await until(() => ends.length === lives);
    assert.equal(watch.hasten(), true);
  }
});

test('a retry does not disturb a child that lives', async t => {
  const { runs, watch, messages } = setup(t, 'echo hi; exec sleep 60');
  await until(() => messages.length === 1);
  watch.retry();
  assert.equal(runs().length, 1);
});

test('stop ends a child that ignores SIGTERM, with its group', async t => {
  const { watch, messages, runs, place } = setup(
    t,
    `trap '' TERM; sleep 60 & echo $! > DIR/below; echo hi; wait; sleep 60`,
  );
  await until(() => messages.length === 1);
  const begin = performance.now();
  await watch.stop();
  assert.ok(performance.now() - begin < 30_000);
  await until(() => !alive(pidOf(runs()[0])) && !alive(Number(place.read('below'))));
  assert.equal(watch.form(), null);
  assert.equal(runs().length, 1, 'nothing is started after stop');
});

test('another CLI replaces the previous CLI, whose messages are then ignored', async t => {
  const { watch, messages, runs, place } = setup(t, `echo one; exec sleep 60`);
  await until(() => messages.length === 1);
  const other = place.script('other', 'echo two; exec sleep 60');
  watch.listen({ file: other, form: 'text', acceptTerms: false });
  await until(() => messages.includes('two'));
  await until(() => !alive(pidOf(runs()[0])));
  assert.deepEqual(messages, ['one', 'two']);
});

test('a child that lives and says nothing is reported once', async t => {
  const { silences, watch, runs } = setup(t, 'exec sleep 60');
  await until(() => silences.length === 1);
  assert.deepEqual([watch.form(), runs().length], ['json', 1]);
});

test('a file that cannot be started is reported and tried again', async t => {
  const { watch, ends, place } = setup(t, 'exit 0');
  watch.listen({ file: `${place.path}/nothing`, form: 'json', acceptTerms: false });
  await until(() => ends.some(ended => /failed to execute|ENOENT/.test(ended.stderr)));
});

test('a line arrives within milliseconds of being written (median of 50)', async t => {
  const { arrivals, messages, place } = setup(
    t,
    `exec ${process.execPath} -e 'let n=0;const w=()=>{process.stdout.write(JSON.stringify({status:"Connected",t:performance.timeOrigin+performance.now()})+"\\n");if(++n<50)setTimeout(w,5)};w();setTimeout(()=>{},60000)'`,
  );
  await until(() => messages.length === 50);
  const delays = messages
    .map((message, at) => performance.timeOrigin + (arrivals[at] ?? 0) - JSON.parse(message).t)
    .sort((a, b) => a - b);
  const median = delays[25] ?? Number.NaN;
  t.diagnostic(`median ${median.toFixed(2)} ms`);
  assert.ok(median < 20, `${median} ms`);
  assert.ok(place.path);
});

const FLOOD = { sliceMs: 20, bytes: 64 * 1024, messages: 50, fullSlices: 5 };

for (const [what, body] of [
  ['standard output', 'exec yes x'],
  ['standard output without line ends', 'exec tr "\\0" x < /dev/zero'],
  ['standard error', 'exec yes x >&2'],
] as const)
  test(`a child that prints to ${what} without pause is ended with its group, and started again after a longer pause`, async t => {
    const { ends, runs, messages, watch } = setup(t, `sleep 60 & ${body}`, { pace: FLOOD });
    await until(() => ends.length === 1);
    assert.equal(ends[0]?.flooded, true);
    assert.match(ends[0]?.stderr ?? '', /more than can be processed/);
    assert.ok(messages.length <= FLOOD.messages * (FLOOD.fullSlices + 2), `${messages.length} messages`);
    assert.equal(watch.form(), null);
    await until(() => !alive(pidOf(runs()[0])));
    assert.equal(runs().length, 1, 'it is not started again at once');
    await until(() => runs().length === 2);
  });

test('the event loop goes on while a child floods, and the flood can be stopped', async t => {
  const { watch, runs } = setup(t, 'exec yes x', { pace: { ...FLOOD, fullSlices: 1e9 } });
  await until(() => runs().length === 1);
  const before = process.cpuUsage();
  const begin = performance.now();
  let turns = 0;
  await until(() => ++turns >= 100);
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1000 / (performance.now() - begin);
  t.diagnostic(`CPU ${(share * 100).toFixed(0)} %`);
  assert.ok(share < 0.5, `${share}`);
  await watch.stop();
  await until(() => !alive(pidOf(runs()[0])));
});

test('all messages within the pace arrive in order, even in one burst', async t => {
  const { messages, ends } = setup(t, 'seq -f "line %g" 1 400; exec sleep 60', {
    form: 'text',
    pace: { ...FLOOD, fullSlices: 20 },
  });
  await until(() => messages.length === 400);
  assert.deepEqual([messages[0], messages[399], ends.length], ['line 1', 'line 400', 0]);
});
