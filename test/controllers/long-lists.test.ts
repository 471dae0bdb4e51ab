import test, {type ExecutionContext} from 'ava';
import {Histories} from '#controllers/daemonset/history.js';
import type {DaemonSet} from '#controllers/daemonset/kinds.js';
import {subsetsFor, type Endpoints} from '#controllers/endpoints/subsets.js';
import {changesFor} from '#controllers/endpointslice-mirroring/changes.js';
import {desiredOf} from '#controllers/endpointslice-mirroring/desired.js';
import {portGroups} from '#controllers/endpointslice/desired.js';
import {planSlices} from '#controllers/endpointslice/plan.js';
import {sliceNames, type EndpointSlice} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Service} from '#controllers/shared/endpoints/services.js';
import type {StatefulSet} from '#controllers/statefulset/kinds.js';
import {revisionPairOf} from '#controllers/statefulset/revisions.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {selectorForLabels} from '#src/api/selectors/label-selector.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {WorkingClock} from '#test/fixtures/working-clock.js';
import {namespace, plat, quiet} from './children.js';
import {contextOver} from './context.js';

/** So much time each look at an item takes. */
const lookMs = 0.005;
/** Between two turns, and when one begins: the work of a turn and a step. */
const mostMs = 15;

const counted = (length: number, of: (index: number) => object): object[] => Array.from({length}, (_, index) => of(index));

/** A list whose items take time to read. */
const slow = <T extends object>(clock: WorkingClock, items: readonly T[]): T[] =>
  new Proxy([...items], {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) clock.work(lookMs);
      return Reflect.get(target, key, receiver) as unknown;
    },
  });

/** Does work in pieces. Fails if the loop does not run in between, or if there was no work. */
const inPieces = async <T>(t: ExecutionContext, clock: WorkingClock, work: Steps<T>): Promise<T> => {
  const result = await runStepsYielding(work, new Yielder(clock));
  t.true(clock.longestMs > 0 && clock.longestMs < mostMs, `${clock.longestMs} ms in one turn`);
  return result;
};

const workload = (clock: WorkingClock) => ({
  metadata: {namespace, name: 'set', uid: '1'},
  spec: {
    selector: {matchLabels: {app: 'a'}},
    template: {
      metadata: {labels: {app: 'a'}},
      spec: {
        containers: [{name: 'c', image: 'i', env: slow(clock, counted(5_000, index => ({name: `n${index}`, value: 'x'})) as never[])}],
      },
    },
  },
});

test('a stateful set with very many variables does not hold the loop for its revision', async t => {
  await using plane = await quiet();
  const clock = new WorkingClock();
  const set = workload(clock) as Frozen<StatefulSet>;
  const options = {client: plane.client(), pieces: new Yielder(clock), semanticComparison: true};

  const made = await revisionPairOf(set, {...options, revisions: []});
  const longer = {
    ...made!.update,
    metadata: {...made!.update.metadata, name: 'b', labels: {}},
    data: {spec: {template: {...set.spec!.template, more: 1}}},
  };
  const again = await revisionPairOf(set, {...options, revisions: [made!.update, longer as never]});

  t.is(again?.update.metadata?.name, made?.update.metadata?.name);
  t.true(clock.longestMs > 0 && clock.longestMs < mostMs, `${clock.longestMs} ms in one turn`);
});

test('a daemon set with very many variables does not hold the loop for its revision', async t => {
  await using plane = await quiet();
  const clock = new WorkingClock();
  const set = workload(clock) as Frozen<DaemonSet>;

  const {hash, old} = await new Histories({...contextOver(plane, [], {}), clock}).of(set, selectorForLabels({app: 'a'}), () =>
    Promise.resolve([]),
  );

  t.deepEqual([hash === '', old], [false, []]);
  t.true(clock.longestMs > 0 && clock.longestMs < mostMs, `${clock.longestMs} ms in one turn`);
});

const aPod = (name: string, ports: object[] = []): Frozen<Pod> =>
  ({
    metadata: {namespace, name, uid: name},
    spec: {containers: [{name: 'c', image: 'i', ports}]},
    status: {phase: 'Running', podIP: '10.0.0.1', podIPs: [{ip: '10.0.0.1'}], conditions: [{type: 'Ready', status: 'True'}]},
  }) as unknown as Frozen<Pod>;

const aService = (clock: WorkingClock, targetPort: (index: number) => string | number): Frozen<Service> =>
  ({
    metadata: {namespace, name: 'web', uid: 'u'},
    spec: {
      clusterIP: 'None',
      ports: slow(
        clock,
        counted(5_000, index => ({name: `p${index}`, port: index + 1, targetPort: targetPort(index)})),
      ),
    },
  }) as unknown as Frozen<Service>;

for (const [what, target] of [
  ['numbers', (index: number) => index + 1],
  ['names', (index: number) => `p${index}`],
] as const) {
  test(`a service with very many ports, whose targets are ${what}, does not hold the loop`, async t => {
    const clock = new WorkingClock();
    const service = aService(clock, target);
    const named = counted(5_000, index => ({name: `p${index}`, containerPort: index + 1}));
    const pods = [aPod('a', named), aPod('b', named)];

    const [subset] = await inPieces(t, clock, subsetsFor(service, pods));
    t.deepEqual([subset?.addresses?.length, subset?.ports?.length], [2, 5_000]);

    const {groups, of} = portGroups(service);
    const group = await inPieces(t, clock, of(pods[0]!));
    t.is(await inPieces(t, clock, of(pods[1]!)), group);
    group.wanted.set('a', {addresses: ['10.0.0.1']});
    const existing = {
      metadata: {name: 's', ownerReferences: [{uid: 'u', kind: 'Service', apiVersion: 'v1'}]},
      addressType: 'IPv4',
      endpoints: [],
    };
    const slices = counted(3, () => ({...existing, ports: slow(clock, group.ports)})) as unknown as Frozen<EndpointSlice>[];
    const plan = await inPieces(t, clock, planSlices(service, slices, groups, {names: sliceNames(plat), maxEndpoints: 100}));
    t.deepEqual([plan.creates.length, plan.updates.length, plan.deletes.length], [0, 1, 0]);
  });
}

test('the ports of a pod are read once for all ports of a service', async t => {
  const clock = new WorkingClock();
  const pod = aPod(
    'a',
    slow(
      clock,
      counted(1_000, index => ({name: `p${index}`, containerPort: index + 1})),
    ),
  );
  const service = {spec: {clusterIP: 'None', ports: counted(1_000, index => ({port: index + 1, targetPort: `p${index}`}))}};

  await runStepsYielding(subsetsFor(service as never, [pod]), new Yielder(clock));

  t.is(Math.round(clock.monotonic() / lookMs), 1_000);
});

test('Endpoints with very many ports and addresses are mirrored without holding the loop', async t => {
  const clock = new WorkingClock();
  const ports = slow(
    clock,
    counted(5_000, index => ({name: `p${index}`, port: index + 1})),
  );
  const addresses = counted(100, index => ({ip: `10.0.0.${index}`}));
  const object = {metadata: {namespace, name: 'web'}, subsets: [{addresses, ports}]} as unknown as Frozen<Endpoints>;

  const {groups} = await inPieces(t, clock, desiredOf(object, 1_000));
  t.is(Math.round(clock.monotonic() / lookMs), 5_000); // Once, not for each address.
  const [group] = groups.values();
  const existing = {addressType: 'IPv4', ports: slow(clock, group!.ports), endpoints: []} as unknown as Frozen<EndpointSlice>;
  const rules = {naming: plat, names: sliceNames(plat), maxEndpoints: 1_000};
  const changes = await inPieces(t, clock, changesFor(object, [existing], groups, rules));

  t.deepEqual([changes.writes.length, changes.deletes.length], [1, 0]);
});
