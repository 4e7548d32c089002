// The published JSON Schema and the validation in use say the same, by the word of an independent validator.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isDateTime, jsonSchema, Manifest, violations } from '../../manifest/schema.ts';

// ajv leaves formats to its user; the calendar of `Date` is another than the one under test
const format = (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) && !Number.isNaN(Date.parse(text));
const ajv = new Ajv2020({ strict: true, allErrors: true, formats: { 'date-time': format } });
const validate = ajv.compile(jsonSchema());

const valid = () => ({
  schema: 'https://culvert.example/schemas/release-manifest.v1.json',
  project: 'culvert',
  tag: 'v1.2.3',
  generated_at: '2026-11-21T12:00:00Z',
  artifacts: [{ name: 'culvert-1.2.3.tar.gz', size: 1, sha256: '0123456789abcdef'.repeat(4) }],
});

test('the schema is valid against the metaschema of draft 2020-12', () => {
  assert.equal(jsonSchema().$schema, 'https://json-schema.org/draft/2020-12/schema');
  assert.equal(ajv.validateSchema(jsonSchema()), true);
});

test('the published file is the schema in use', () => {
  const published = new URL('../../manifest/schemas/release-manifest.v1.json', import.meta.url);
  assert.deepEqual(JSON.parse(readFileSync(published, 'utf8')), jsonSchema());
});

test('the schema says what the specification says, and no more', () => {
  const {
    description: _,
    title: __,
    ...schema
  } = JSON.parse(JSON.stringify(jsonSchema(), (key, value) => (key === 'description' ? undefined : value)));
  assert.deepEqual(schema, {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://culvert.example/schemas/release-manifest.v1.json',
    type: 'object',
    additionalProperties: false,
    required: ['schema', 'project', 'generated_at', 'artifacts'],
    properties: {
      schema: { type: 'string', const: 'https://culvert.example/schemas/release-manifest.v1.json' },
      project: { type: 'string', const: 'culvert' },
      tag: { type: 'string', minLength: 1 },
      generated_at: { type: 'string', format: 'date-time' },
      artifacts: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['name', 'size', 'sha256'],
          properties: {
            name: { type: 'string', pattern: '^culvert-.+' },
            size: { type: 'integer', minimum: 1 },
            sha256: { type: 'string', pattern: '^[a-f0-9]{64}$' },
          },
        },
      },
    },
  });
});

describe('the independent validator and the one in use agree', () => {
  // biome-ignore format: a table
  const values = [
    undefined, null, true, false, 0, 1, -1, 1.5, 2 ** 53, 2 ** 60, 1e308, Number.POSITIVE_INFINITY, '', ' ', 'a',
    'culvert', 'culvert-', 'culvert-a', 'culvert-\n', 'culvert-\na', 'culvert-a\n', 'culvert-\u2028', 'culvert-💧',
    'culvert-\ud800', 'a culvert-a', 'Culvert-a', 'a'.repeat(64), 'A'.repeat(64), 'g'.repeat(64), `${'a'.repeat(64)}\n`,
    'a'.repeat(63), 'a'.repeat(65), '2026-02-28T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-01', [], [null], {}, [{}],
    valid(), valid().artifacts, [...valid().artifacts, ...valid().artifacts], [valid().artifacts[0], 1],
  ];
  const places = ['schema', 'project', 'tag', 'generated_at', 'artifacts', 'more', 'name', 'size', 'sha256', 'url', ''];
  for (const place of places) {
    test(`any value ${place ? `as "${place}"` : 'alone'}`, () => {
      for (const value of values) {
        const document = spoiled(place, value);
        assert.equal(Manifest.safeParse(document).success, validate(document), `${place}: ${JSON.stringify(value)}`);
      }
    });
  }

  test('on a good manifest, so that they can disagree', () => {
    assert.equal(validate(valid()), true);
    assert.equal(Manifest.safeParse(valid()).success, true);
  });
});

test('a date-time is one of RFC 3339 that exists', () => {
  // biome-ignore format: a table
  const good = [
    '2026-11-21T12:00:00Z', '2026-11-21t12:00:00z', '2026-11-21T12:00:00.123456789Z', '2026-11-21T12:00:00+23:59',
    '2026-11-21T12:00:00-00:00', '2024-02-29T00:00:00Z', '2000-02-29T00:00:00Z', '0000-02-29T00:00:00Z',
    '9999-12-31T23:59:59Z', '2016-12-31T23:59:60Z', '1990-12-31T15:59:60-08:00', '2017-01-01T05:29:60+05:30',
  ];
  // biome-ignore format: a table
  const bad = [
    '', '2026', '2026-11-21', '2026-11-21T12:00Z', '2026-11-21 12:00:00Z', '2026-11-21T12:00:00',
    '2026-1-21T12:00:00Z', '2026-00-21T12:00:00Z', '2026-13-21T12:00:00Z', '2026-11-00T12:00:00Z',
    '2026-11-31T12:00:00Z', '2025-02-29T00:00:00Z', '1900-02-29T00:00:00Z', '2026-11-21T24:00:00Z',
    '2026-11-21T12:60:00Z', '2026-11-21T12:00:61Z', '2026-11-21T12:00:60Z', '2016-12-31T23:59:60+01:00',
    '2026-11-21T12:00:00.Z', '2026-11-21T12:00:00+24:00', '2026-11-21T12:00:00+0100', '2026-11-21T12:00:00+01:60',
    '+2026-11-21T12:00:00Z', '2026-11-21T12:00:00Z ', '2026-11-21T12:00:00Z\n', '٢٠٢٦-11-21T12:00:00Z',
    '2026-11-21T12:00:00ZZ',
  ];
  assert.deepEqual(
    good.filter(text => !isDateTime(text)),
    [],
  );
  assert.deepEqual(bad.filter(isDateTime), []);
});

/** A good manifest with one place changed; `undefined` takes the place out. */
function spoiled(place: string, value: unknown): unknown {
  if (place === '') return value;
  const document: Record<string, unknown> = valid();
  const target = ['name', 'size', 'sha256', 'url'].includes(place)
    ? (document.artifacts as Record<string, unknown>[])[0]!
    : document;
  if (value === undefined) delete target[place];
  else target[place] = value;
  return document;
}

test('violations are named with their place, the first five of them', () => {
  const report = (document: unknown) => violations(Manifest.safeParse(document).error!.issues, document);
  assert.equal(report(7), 'the document must be an object');
  assert.equal(report({ ...valid(), tag: '' }), 'tag must not be empty');
  assert.equal(report({ ...valid(), artifacts: undefined }), 'artifacts is missing');
  assert.equal(
    report({ ...valid(), artifacts: [{ ...valid().artifacts[0], size: 0 }] }),
    'artifacts[0].size must be at least 1',
  );
  const bad = (count: number) => report({ ...valid(), artifacts: Array(count).fill(1) }).split('; ');
  assert.deepEqual(bad(5).at(-1), 'artifacts[4] must be an object');
  assert.deepEqual(bad(6).slice(4), ['artifacts[4] must be an object', 'and 1 more']);
  assert.deepEqual(bad(7).slice(4), ['artifacts[4] must be an object', 'and 2 more']);
});

test('unknown keys are named, the first five of them with 40 characters each', () => {
  const keys = ['a', 'b', 'c', 'd', 'e'.repeat(41), 'f'];
  const document = { ...valid(), ...Object.fromEntries(keys.map(key => [key, 1])) };
  const expected = ['a', 'b', 'c', 'd', 'e'.repeat(40)].map(key => `"${key}"`).join(', ');
  const { issues } = Manifest.safeParse(document).error!;
  assert.equal(violations(issues, document), `the document has unknown keys: ${expected}`);
});
