import test from 'ava';
import {bandedSeconds} from '#controllers/ttl/policy.js';
import {kinds} from '#src/api/kinds/index.js';
import {aPlane} from './plane.js';

const path = (...counts: readonly number[]) => {
  const wanted = bandedSeconds();
  return counts.map(count => {
    wanted.update(count);
    return wanted.seconds;
  });
};

test('more nodes may believe longer, and bands that overlap keep a swaying count at rest', t => {
  t.deepEqual(path(0, 100, 101, 95, 90, 89), [0, 0, 15, 15, 15, 0]);
  t.deepEqual(path(500, 501, 450, 449), [15, 30, 30, 15]);
  t.deepEqual(path(1001, 2000, 2001, 1800, 1799), [60, 60, 300, 300, 60]);
});

test('every node is annotated, and again when others change the annotation', async t => {
  await using plane = await aPlane({controllers: ['ttl-controller']});
  const nodes = plane.client().resource(kinds.nodes);
  const annotation = plane.naming.subKey('node.alpha', 'ttl');
  const seen = async (name: string) => (await nodes.get(name)).metadata?.annotations?.[annotation];
  await nodes.create({metadata: {name: 'one'}});
  await nodes.create({metadata: {name: 'two', annotations: {[annotation]: 'soon'}}});
  await plane.clock.drain();
  t.deepEqual([await seen('one'), await seen('two')], ['0', '0']);

  await nodes.patch('one', 'merge', {metadata: {annotations: {[annotation]: '15'}}});
  await plane.clock.drain();
  t.is(await seen('one'), '0');
});

test('the hundred and first node makes those annotated from then on believe for fifteen seconds', async t => {
  await using plane = await aPlane({controllers: ['ttl-controller']});
  const nodes = plane.client().resource(kinds.nodes);
  for (let i = 0; i < 101; i++) await nodes.create({metadata: {name: `node-${i}`}});
  await plane.clock.drain();

  const {annotations} = (await nodes.get('node-100')).metadata ?? {};
  t.is(annotations?.[plane.naming.subKey('node.alpha', 'ttl')], '15');
});
