import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane} from '#src/plane/plane.js';

test('the number of simulated nodes grows and shrinks at its end, and grows again', async t => {
  const plane = await startPlane({listen: false, nodes: 1, controllers: 'none'});
  t.teardown(() => plane.stop());
  const names = async () => (await plane.client().resource(kinds.nodes).list()).items.map(({metadata}) => metadata!.name!).sort();

  await plane.simulation!.scale(3);
  t.deepEqual(await names(), ['plat-node-0', 'plat-node-1', 'plat-node-2']);
  t.truthy(plane.simulation!.nodeAt('plat-node-2')?.agent);
  await plane.simulation!.scale(1);
  t.deepEqual(await names(), ['plat-node-0']);
  t.is(plane.simulation!.nodeAt('plat-node-2'), undefined);
  await plane.simulation!.scale(2);
  t.deepEqual(await names(), ['plat-node-0', 'plat-node-1']);
  await plane.simulation!.scale(0);
  t.deepEqual(await names(), []);
});
