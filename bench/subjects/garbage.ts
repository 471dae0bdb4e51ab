import {startPlane as startInProcess} from '#src/plane/plane.js';
import {kinds} from '#src/api/kinds/index.js';
import {collectionSeconds} from '#bench/load/collecting.js';
import {each, seconds} from '#bench/load/each.js';
import {startPlane} from '#bench/load/programs.js';
import {type Row, row} from '#bench/run/row.js';

const dependents = 10_000;
const namespace = 'bench';

/** Time from the deletion of an owner with ten thousand dependents until none is left, in `plat up`. */
const collected = async (policy: string): Promise<number> => {
  const plane = await startPlane();
  const time = await collectionSeconds(plane, {namespace, dependents, policy});
  await plane.stop();
  return time;
};

/** The baseline: the same objects deleted one by one by an in-process client that knows their names. */
const deletedByName = async (): Promise<number> => {
  await using plane = await startInProcess({listen: false, controllerManagerArgs: ['--controllers=-*']});
  const maps = plane.client().resource(kinds.configMaps);
  await plane
    .client()
    .resource(kinds.namespaces)
    .create({metadata: {name: namespace}});
  await each(dependents, index => maps.create({metadata: {namespace, name: `dependent-${index}`}}));
  return await seconds(() => each(dependents, index => maps.delete(`dependent-${index}`, {namespace})));
};

/** The throughput of the garbage collector. */
export const garbageRows = async (): Promise<Row[]> => {
  const byName = dependents / (await deletedByName());
  const rows: Row[] = [];
  for (const policy of ['Background', 'Foreground']) {
    const time = await collected(policy);
    rows.push(
      row(`dependents collected, ${policy.toLowerCase()}`, dependents / time, '/s', {
        baseline: byName,
        note: `${dependents} dependents gone ${time.toFixed(1)} s after their owner's deletion; embedded store, in process without client limits; the limit deletes them by name in memory`,
      }),
    );
  }
  return rows;
};
