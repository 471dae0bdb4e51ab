import test, {type ExecutionContext} from 'ava';
import {StatusError} from '#src/api/status.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {startPlane} from '#src/plane/plane.js';
import {inject, type InjectOptions} from '#src/testing/index.js';

const aPlane = async (t: ExecutionContext) => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, clock, controllerManagerArgs: ['--controllers='], freeze: true});
  t.teardown(() => plane.stop());
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
  for (const count of [0, -1, 1.5, NaN]) t.throws(() => inject(plane, {fault: 500, count}), {instanceOf: RangeError});
});
