import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane} from '#src/plane/plane.js';

for (const naming of ['plat', 'kubernetes'] as const) {
  test(`a plane in memory with the ${naming} naming serves objects to clients in its process`, async t => {
    await using plane = await startPlane({naming, listen: false, clock: new VirtualClock(), freeze: true});
    const namespaces = await plane.client().resource(kinds.namespaces).list();

    t.deepEqual(
      namespaces.items.map(({metadata}) => metadata?.name),
      ['default', plane.naming.nodeLeaseNamespace, plane.naming.publicNamespace, plane.naming.systemNamespace].sort(),
    );
  });
}
