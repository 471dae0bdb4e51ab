import {startPlane as startInProcess} from '#src/plane/plane.js';
import {kinds} from '#src/api/kinds/index.js';
import {each, seconds} from './each.js';
import {caller, startPlane} from './programs.js';
import {type Row, row} from './row.js';

const dependents = 10_000;
const namespace = 'bench';

/** Time from the deletion of an owner with ten thousand dependents until none is left, in `plat up`. */
const collected = async (propagationPolicy: string): Promise<number> => {
  const plane = await startPlane();
  const call = caller(plane);
  const maps = `/api/v1/namespaces/${namespace}/configmaps`;
  await call('POST', '/api/v1/namespaces', {metadata: {name: namespace}});
  const owner = JSON.parse((await call('POST', maps, {metadata: {name: 'owner'}})).text) as {metadata: {uid: string}};
  const ownerReferences = [{apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid, blockOwnerDeletion: true}];
  await each(dependents, index =>
    call('POST', maps, {metadata: {name: `dependent-${index}`, labels: {bench: 'dependent'}, ownerReferences}}),
  );
  const time = await seconds(async () => {
    await call('DELETE', `${maps}/owner?propagationPolicy=${propagationPolicy}`);
    const isThere = async () =>
      (JSON.parse((await call('GET', `${maps}?limit=1&labelSelector=bench%3Ddependent`)).text) as {items: unknown[]}).items.length > 0;
    while (await isThere()) await new Promise(resolve => setTimeout(resolve, 20));
  });
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
