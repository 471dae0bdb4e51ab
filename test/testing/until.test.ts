import test, {type ExecutionContext} from 'ava';
import {isForbidden, isNotFound, statusError} from '#src/api/status.js';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {startPlane} from '#src/plane/plane.js';
import {until, type Duration} from '#src/testing/index.js';

const original = await startPlane({listen: false, clock: new VirtualClock(), controllers: 'none', freeze: true});
test.after.always(() => original.stop());

const aPlane = async (t: ExecutionContext) => {
  const plane = await original.fork();
  t.teardown(() => plane.stop());
  const clock = plane.clock as VirtualClock;
  await clock.drain();
  const maps = plane.client().resource(ConfigMap);
  const key = {namespace: 'default'} as const;
  return {clock, plane, get: () => maps.get('late', key), create: () => maps.create({metadata: {name: 'late', ...key}})};
};

test('a condition that waits for an object holds once the object is there, and its value is returned', async t => {
  const {clock, plane, get, create} = await aPlane(t);
  const start = clock.monotonic();
  clock.schedule(90_500, create);

  const map = await until(plane, get, {within: '5m'});

  t.is(map.metadata?.name, 'late');
  t.is(clock.monotonic() - start, 91_000);
});

test('time does not move for a condition that holds once all that is due has happened', async t => {
  const {clock, plane, get, create} = await aPlane(t);
  const start = clock.monotonic();
  const created = create();

  await until(plane, get, {within: 0});

  t.is(clock.monotonic(), start);
  await created;
});

test('a condition is checked after each step, and a last time when all of the time has passed', async t => {
  const {clock, plane} = await aPlane(t);
  const start = clock.monotonic();
  const checks: number[] = [];
  const check = () => {
    checks.push(clock.monotonic() - start);
    return checks.length === 4;
  };

  t.true(await until(plane, check, {within: '2500ms'}));
  t.deepEqual(checks, [0, 1000, 2000, 2500]);
});

test('a condition that does not hold in time is named with the time that passed and what was seen last', async t => {
  const {clock, plane, get} = await aPlane(t);
  const start = clock.monotonic();

  const missing = await t.throwsAsync(until(plane, get, {within: '1m30s', step: '20s', what: 'the map is there'}));
  t.is(missing?.message, 'the map is there: still not so after 1m30s of virtual time, at last configmaps "late" not found');
  t.true(isNotFound(missing?.cause));
  t.is(clock.monotonic() - start, 90_000);

  const unnamed = await t.throwsAsync(until(plane, () => Promise.resolve(start < 0), {within: 500}));
  t.regex(unnamed?.message ?? '', /^\(\) => Promise\.resolve\(\w+ < 0\): still not so after 500ms of virtual time, at last false$/);
  t.is(unnamed?.cause, undefined);
});

test('an error that does not say that something is missing rejects at once', async t => {
  const {clock, plane} = await aPlane(t);
  const start = clock.monotonic();

  const error = await t.throwsAsync(until(plane, () => Promise.reject(statusError('Forbidden', 'no')), {within: '1m'}));

  t.true(isForbidden(error));
  t.is(clock.monotonic(), start);
});

test('what takes more real time than it may rejects with what was going on', async t => {
  const {clock, plane} = await aPlane(t);
  // The limit of real time keeps no process alive.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  const options = {within: '1h', timeLimit: '200ms', what: 'the map is there'} as const;

  await t.throwsAsync(
    until(plane, () => new Promise<boolean>(() => {}), options),
    {message: 'the map is there: the condition has not resolved, 0s of virtual time after the start: more than 200ms of real time'},
  );

  const hold = clock.hold();
  await t.throwsAsync(
    until(plane, () => false, options),
    {message: /^the map is there: time is held by work that has not ended \(1\), /},
  );
  hold[Symbol.dispose]();

  const again = (): unknown => clock.schedule(0, again);
  again();
  await t.throwsAsync(
    until(plane, () => false, options),
    {message: /^the map is there: work goes on without an end at one moment, or at many, 0s of virtual time/},
  );
});

test('waiting ends with the reason of its signal', async t => {
  const {clock, plane} = await aPlane(t);
  const stopping = new AbortController();
  clock.schedule(10_000, () => stopping.abort(new Error('enough')));

  await t.throwsAsync(
    until(plane, () => false, {within: '1h', signal: stopping.signal}),
    {message: 'enough'},
  );
  t.true(clock.monotonic() < 60_000);
});

test('a clock that runs by itself, and steps that do not move time, are refused', async t => {
  const {plane} = await aPlane(t);

  await t.throwsAsync(
    until({clock: systemClock}, () => true, {within: 1}),
    {instanceOf: TypeError, message: /startPlane\(\{clock: new VirtualClock\(\)\}\)/},
  );
  await t.throwsAsync(
    until(plane, () => false, {within: 1, step: 0}),
    {instanceOf: RangeError, message: 'a step of 0 does not move time'},
  );
  await t.throwsAsync(
    until(plane, () => false, {within: 'soon' as Duration}),
    {instanceOf: TypeError},
  );
});
