// Tests the HTTP part of a catalog entry through a gateway, with a stand-in server for the provider.
import type { HttpProvider } from '../../catalog/programs.ts';
import type { Context } from '../../context.ts';
import { keyValue } from '../../gateway/key-places.ts';
import { type Bench, type Entry, type Home, KEYS, openBench, type Seen } from './http-bench.ts';

/** Result of one check. */
export interface HttpResult {
  what: string;
  expect: string;
  got: string;
  ms: number;
}

/** A check, with the options of its home. */
interface Check extends Home {
  what: string;
  expect: string;
  run(bench: Bench): Promise<string>;
}

const JOB = 'culvert-job-1';
const ANY = 'GET /culvert-test';
/** Size of a job in a check, in units. */
const WANTED = 900;

/** Runs all checks of an entry's `http`. */
export async function testHttp(cli: string, provider: Entry, context: Context): Promise<HttpResult[]> {
  const results: HttpResult[] = [];
  const checks = [...accountChecks(provider), ...jobChecks(provider), ...addressChecks(provider)];
  for (const { what, expect, run, ...home } of checks) {
    const started = Date.now();
    const bench = await openBench(cli, provider, context, home);
    try {
      results.push({ what, expect, got: await run(bench), ms: Date.now() - started });
    } finally {
      await bench.close();
    }
  }
  return results;
}

/** Returns checks of keys, other headers of an account, and classes of errors. */
function accountChecks({ http, accounts }: Entry): Check[] {
  const { billed } = http;
  const key: Check = {
    what: 'key',
    expect: keyValue(http, KEYS.a),
    run: async ({ ask, seen }) => {
      await ask(ANY);
      return seen[0]?.key ?? 'no request';
    },
  };
  const headers = http.account_headers.map(
    (name): Check => ({
      what: `header ${name}`,
      expect: 'left out',
      run: async ({ ask, seen }) => {
        await ask(ANY, undefined, { [name]: 'own' });
        return seen[0]?.headers[name] === undefined ? 'left out' : 'passed on';
      },
    }),
  );
  const statuses = statusesOf(http).map(
    ({ expect, ...answer }): Check => ({
      what: `status ${answer.status}`,
      expect,
      run: async ({ ask, answers, keys, seen, close }) => {
        answers.set(keys.a, answer);
        const { status } = await ask('POST /culvert-test', {});
        const failure = (await close()) ?? 'other';
        const goesOn = failure !== 'other' && accounts !== 'one-per-person';
        return goesOn === (seen.length > 1 && status === 200) ? failure : `${failure}, with the wrong account`;
      },
    }),
  );
  const once: Check[] =
    billed === undefined
      ? []
      : [
          {
            what: `error with ${billed}`,
            expect: 'made once',
            run: async ({ ask, answers, keys, seen }) => {
              answers.set(keys.a, { status: 402, body: JSON.stringify(nested(billed, 'culvert-charge')) });
              await ask('POST /culvert-test', {});
              return seen.length === 1 ? 'made once' : `made ${seen.length} times`;
            },
          },
        ];
  return [key, ...headers, ...statuses, ...once];
}

/** Returns checks of the accounts that jobs use. */
function jobChecks({ http, accounts }: Entry): Check[] {
  const { creators, followers } = http;
  /** Creates a job with the first account, and then uses up the account's quota. */
  const create = async ({ request, id }: (typeof creators)[number], { ask, answers, keys }: Bench) => {
    answers.set(keys.a, { status: 200, body: JSON.stringify(nested(id, JOB)) });
    await ask(exampleOf(request), {});
    answers.set(keys.a, { status: 402 });
    await ask(ANY);
  };
  const jobs = creators.map(
    (creator): Check => ({
      what: `job of ${creator.request}`,
      expect: keyValue(http, KEYS.a),
      run: async bench => {
        await create(creator, bench);
        await bench.ask(`GET ${exampleOf(creator.request).split(' ')[1]}/${JOB}`);
        return bench.seen.at(-1)!.key;
      },
    }),
  );
  const [first] = creators;
  const named = followers.map(
    ({ request, id }): Check => ({
      what: `job named in ${id} of ${request}`,
      expect: keyValue(http, KEYS.a),
      run: async bench => {
        if (!first) return 'no request creates one';
        await create(first, bench);
        const isGet = request.startsWith('GET ');
        await bench.ask(`${exampleOf(request)}${isGet ? `?${id}=${JOB}` : ''}`, isGet ? undefined : nested(id, JOB));
        return bench.seen.at(-1)!.key;
      },
    }),
  );
  const large = creators.flatMap(({ request, wants }): Check[] =>
    wants === undefined
      ? []
      : [
          {
            what: `${wants} of ${request}`,
            expect: accounts === 'one-per-person' ? keyValue(http, KEYS.a) : keyValue(http, KEYS.b),
            knowsUsage: true,
            run: async ({ ask, seen }) => {
              await ask(exampleOf(request), nested(wants, WANTED));
              return seen.at(-1)!.key;
            },
          },
        ],
  );
  return [...jobs, ...named, ...large];
}

/** Returns checks of the provider's addresses. */
function addressChecks({ http }: Entry): Check[] {
  const { mcp } = http;
  const rewritten = http.rewrite.map(
    (name): Check => ({
      what: `address in ${name}`,
      expect: 'the gateway',
      run: async ({ ask, answers, keys, url, base }) => {
        answers.set(keys.a, { status: 200, body: JSON.stringify({ [name]: `${base}/x?y=1` }) });
        const { text } = await ask(ANY);
        return text.includes(`"${url}/x?y=1"`) ? 'the gateway' : text;
      },
    }),
  );
  const ofKeys = http.bases.map(
    ({ key_ends: keyEnd, base }): Check => ({
      what: `key that ends with ${keyEnd}`,
      expect: base,
      keyEnd,
      run: async ({ ask, seen }) => {
        await ask(ANY);
        return isAtOther(seen[0]) ? base : http.base;
      },
    }),
  );
  const ofMcp: Check[] =
    mcp === undefined
      ? []
      : [
          {
            what: 'MCP server',
            expect: `${mcp.base}${mcp.address.replace('{key}', KEYS.a)}`,
            run: async ({ ask, seen, placeholder }) => {
              await ask(`POST ${mcp.address.replace('{key}', placeholder)}`, {});
              return `${isAtOther(seen[0]) ? mcp.base : http.base}${seen[0]?.where}`;
            },
          },
        ];
  return [...rewritten, ...ofKeys, ...ofMcp];
}

/** Reports whether a request used the stand-in server's other address, which has the host name `localhost`. */
function isAtOther(seen: Seen | undefined): boolean {
  return seen?.headers.host?.startsWith('localhost:') ?? false;
}

/** Returns an example of a request that matches a pattern. */
function exampleOf(request: string): string {
  return request.replaceAll('*', 'x');
}

/** Returns the answers to test: the entry's probes, and the statuses in its rules and in the gateway's own rules. */
function statusesOf({ probes, retry }: HttpProvider): HttpProvider['probes'] {
  const own = [401, 402, 429].map((status, index) => ({
    status,
    expect: (['auth', 'quota', 'rate'] as const)[index]!,
  }));
  const ofRules = retry.flatMap(({ status, body, class: expect }) => (body === undefined ? [{ status, expect }] : []));
  const statuses = [...ofRules, ...own, { status: 500, expect: 'other' as const }];
  const first = statuses.filter(({ status }, index) => statuses.findIndex(each => each.status === status) === index);
  return [...probes, ...first];
}

/** Nests a value in objects at a path such as `data.id`. */
function nested(at: string, value: unknown): unknown {
  return at.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
}
