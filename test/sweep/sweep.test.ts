import test from 'ava';
import {seededRandom} from '#src/base/random.js';
import {schemaOf} from '#src/apiserver/request/body.js';
import {bodyWith} from './bodies.js';
import {collectionsOf, pathText} from './fields.js';
import {comparePair, pairsOf, startPairs} from './pairs.js';
import {sweepServer} from './server.js';
import {casesOf, drawn, sweep, type Finding} from './sweep.js';

/** The size of each list and map at which quadratic work takes seconds. */
const bytes = 60_000;
const count = 3;
/** The maximum CPU time of a request of that size, in ms. Quadratic work takes many times as long. */
const mostWorkMs = 700;

test('the sweep finds lists and maps at every depth, and fills them', async t => {
  await using server = await sweepServer({thread: false});
  const cases = [...casesOf(server)];
  const of = (path: string) =>
    cases.find(
      ({target, collection, filling}) => target.label === '/api/v1/pods' && pathText(collection.path) === path && filling === 'different',
    );
  for (const path of [
    'metadata.labels',
    'spec.containers',
    'spec.containers[].env',
    'spec.containers[].resources.limits',
    'status.conditions',
  ]) {
    const found = of(path);
    t.truthy(found, path);
    const {kind, resource} = found!.target.served;
    const body = bodyWith(found!.target.sample, schemaOf(resource.settings.schemas, kind), found!.collection, 'different', bytes);
    t.true(Math.abs(JSON.stringify(body).length / bytes - 1) < 0.3, path);
  }
  t.true(cases.length > 10_000);
});

test('a sample of the sweep takes no longer than its size', async t => {
  await using server = await sweepServer({thread: false});
  const findings: Finding[] = [];
  for (const one of drawn(casesOf(server), count, seededRandom(3)))
    for await (const finding of sweep(server, one, bytes)) findings.push(finding);

  t.true(findings.length > count * 5);
  // An apply configuration that does not fit its schema is answered with 500, as upstream.
  t.deepEqual(
    findings.filter(({longestMs, status, verb}) => longestMs > mostWorkMs || (status === 500 && verb !== 'apply')),
    [],
  );
});

test('pairs of lists are those of kinds that are compared, and long ones of a node and a pod do not hold the loop', async t => {
  await using server = await startPairs();
  const pairs = [...pairsOf(server)];
  const [taints, tolerations] = ['spec.taints', 'spec.tolerations'];
  const pair = pairs.find(([a, b]) => pathText(a.collection.path) === taints && pathText(b.collection.path) === tolerations);
  const finding = await comparePair(server, pair!, bytes);

  t.true(pairs.length > 100_000);
  t.is(finding?.label, '/api/v1/nodes spec.taints × /api/v1/pods spec.tolerations');
  t.true(finding!.longestMs < mostWorkMs);
});

test('a schema that holds itself is entered once', t => {
  const node = {type: 'object', ref: {group: 'g', version: 'v', name: 'Tree'}} as {
    type: 'object';
    properties?: ReadonlyMap<string, unknown>;
  };
  node.properties = new Map([['children', {type: 'array', items: node}]]);

  t.deepEqual(
    [...collectionsOf(node as never)].map(({path}) => pathText(path)),
    ['children'],
  );
});
