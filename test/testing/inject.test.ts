import test, {type ExecutionContext} from 'ava';
import {StatusError} from '#src/api/status.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {startPlane} from '#src/plane/plane.js';
import {inject, type InjectOptions} from '#src/testing/index.js';

const original = await startPlane({listen: false, clock: new VirtualClock(), controllers: 'none', freeze: true});
test.after.always(() => original.stop());

const aPlane = async (t: ExecutionContext) => {
  const plane = await original.fork();
  t.teardown(() => plane.stop());
  const clock = plane.clock as VirtualClock;
  await clock.drain();
  const maps = plane.client().resource(ConfigMap);
  await maps.create({metadata: {name: 'a', namespace: 'default'}});
  return {clock, plane, maps, get: () => maps.get('a', {namespace: 'default'})};
};

for (const [fault, reason] of [
  [409, 'Conflict'],
  [410, 'Expired'],
  [429, 'TooManyRequests'],
  [500, 'InternalError'],
] as const)
  test(`one request meets ${fault} with the Status ${reason}, and the next one does not`, async t => {
    const {plane, get} = await aPlane(t);
    using injected = inject(plane, {fault, kind: ConfigMap, verb: 'get'});

    const error = await t.throwsAsync(get(), {instanceOf: StatusError});
    t.is(error?.code, fault);
    t.is(error?.reason, reason);
    t.is((await get()).metadata?.name, 'a');
    t.is(injected.count, 1);
  });

test('a slow request is answered after the delay of the virtual clock', async t => {
  const {clock, plane, get} = await aPlane(t);
  using _ = inject(plane, {fault: 'slow', kind: ConfigMap, after: '5s'});
  let isAnswered = false;
  const answered = get().then(() => (isAnswered = true));

  await clock.advance(4999);
  t.false(isAnswered);
  await clock.advance(1);
  t.true(await answered);
});

test('only requests that match every selector meet a fault, until it is disposed of', async t => {
  const {plane, get} = await aPlane(t);
  const matching: InjectOptions = {
    fault: 500,
    verb: 'get',
    kind: ConfigMap,
    namespace: 'default',
    name: 'a',
    user: 'plat-admin',
    userAgent: 'plat',
    count: 'always',
  };
  const others = {verb: 'list', kind: {...ConfigMap, plural: 'secrets'}, namespace: 'x', name: 'b', user: 'x', userAgent: 'x'};
  for (const [selector, value] of Object.entries(others)) {
    using other = inject(plane, {...matching, [selector]: value});
    await get();
    t.is(other.count, 0, selector);
  }
  const injected = inject(plane, matching);
  await t.throwsAsync(get());
  await t.throwsAsync(get());
  t.is(injected.count, 2);
  injected[Symbol.dispose]();
  await get();
});

test('the stream of a watch that is cut ends after its time, and nothing before that is lost', async t => {
  const {clock, plane, maps} = await aPlane(t);
  using injected = inject(plane, {fault: 'cut watch', kind: ConfigMap, after: '5s'});
  const seen: (string | undefined)[] = [];
  let isOver = false;
  const watch = maps.watch({namespace: 'default'}).subscribe({
    next: ({object}) => seen.push(object.metadata?.name),
    complete: () => (isOver = true),
  });
  t.teardown(() => watch.unsubscribe());
  await clock.drain();
  await maps.create({metadata: {name: 'b', namespace: 'default'}});
  await clock.advance(4999);
  t.is(isOver, false);
  await clock.advance(1);

  t.is(isOver, true);
  t.deepEqual(seen, ['a', 'b']);
  t.is(injected.count, 1);
});

test('a request that is refused changes nothing', async t => {
  const {plane, maps} = await aPlane(t);
  using _ = inject(plane, {fault: 500, verb: 'create', kind: ConfigMap});
  await t.throwsAsync(maps.create({metadata: {name: 'b', namespace: 'default'}}));

  t.deepEqual(
    (await maps.list({namespace: 'default'})).items.map(({metadata}) => metadata?.name),
    ['a'],
  );
});

test('a count that is no positive integer is refused', async t => {
  const {plane} = await aPlane(t);
  for (const count of [0, -1, 1.5, NaN]) {
    t.throws(() => inject(plane, {fault: 500, count}), {instanceOf: RangeError});
    t.throws(() => inject(plane, {fault: 'stale cache', behind: count}), {instanceOf: RangeError});
  }
});

/** A plane whose watch of config maps meets a fault, with the data that it has delivered. */
const aWatch = async (t: ExecutionContext, options: InjectOptions) => {
  const {clock, plane, maps} = await aPlane(t);
  const injected = inject(plane, {kind: ConfigMap, ...options});
  const seen: string[] = [];
  const {metadata} = await maps.get('a', {namespace: 'default'});
  const watch = maps
    .watch({namespace: 'default', resourceVersion: metadata!.resourceVersion!})
    .subscribe(({object}) => seen.push(`${object.metadata?.name}=${object.data?.['n']}`));
  t.teardown(() => watch.unsubscribe());
  await clock.drain();
  const write = async (name: string, n: number) => {
    const body = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name}, data: {n: String(n)}};
    await maps.patch(name, 'apply', body, {namespace: 'default', fieldManager: 'test'});
    await clock.drain();
  };
  return {clock, injected, seen, write};
};

test('a stale cache is some changes behind until the fault is disposed of', async t => {
  const {injected, seen, write} = await aWatch(t, {fault: 'stale cache', behind: 2});
  for (const n of [1, 2, 3]) await write('a', n);

  t.deepEqual(seen, ['a=1']);
  injected[Symbol.dispose]();
  t.deepEqual(seen, ['a=1', 'a=2', 'a=3']);
  await write('a', 4);
  t.is(seen.at(-1), 'a=4');
});

test('a delayed event comes after its time, and those that follow it in the watch come after it', async t => {
  const {clock, injected, seen, write} = await aWatch(t, {fault: 'delayed event', name: 'b', after: '5s'});
  await write('a', 1);
  await write('b', 1);
  await write('a', 2);

  t.deepEqual(seen, ['a=1']);
  await clock.advance(4_999);
  t.deepEqual(seen, ['a=1']);
  await clock.advance(1);
  t.deepEqual(seen, ['a=1', 'b=1', 'a=2']);
  await write('b', 2);
  t.is(seen.at(-1), 'b=2', 'only one event is late');
  t.is(injected.count, 1);
});

test('a doubled event comes twice, as many of them as are counted', async t => {
  const {injected, seen, write} = await aWatch(t, {fault: 'doubled event', count: 2, user: 'plat-admin'});
  for (const n of [1, 2, 3]) await write('a', n);

  t.deepEqual(seen, ['a=1', 'a=1', 'a=2', 'a=2', 'a=3']);
  t.is(injected.count, 2);
});
