import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {settled} from '#src/runtime/controller.js';
import {startManager} from './environment.js';
import {named, second} from './managed-controllers.js';

/** A manager whose first controller does not wait until the caches of two others may be filled. */
const startFirst = (t: ExecutionContext) => {
  let fill = (): void => {};
  const others = new Promise<void>(resolve => (fill = resolve));
  const seen: string[] = [];
  const seeing = (name: string, primary: Parameters<typeof named>[1]) =>
    named(name, {
      create: () => async key => {
        seen.push(`${name} ${key.name}`);
        return settled;
      },
      ...primary,
    });
  const env = startManager(
    t,
    [
      seeing('one-controller', {primary: kinds.secrets}),
      seeing('two-controller', {}),
      seeing('three-controller', {primary: kinds.services}),
    ],
    {first: {names: ['two-controller'], others}},
  );
  return {...env, fill, seen};
};

test('a controller that goes first reconciles fresh keys while the lists of the others have not begun', async t => {
  const {clock, manager, create, start, fill, seen, end} = startFirst(t);
  let [first, all] = [false, false];
  manager.firstRunning.then(() => (first = true), t.fail);
  manager.started.then(
    () => (all = true),
    () => {},
  );
  await create(kinds.secrets, {metadata: {namespace: 'default', name: 's'}});
  await create(kinds.configMaps, {metadata: {namespace: 'default', name: 'listed'}});
  await start();
  await clock.advance(60 * second);
  await create(kinds.configMaps, {metadata: {namespace: 'default', name: 'fresh'}});

  t.deepEqual(seen.splice(0), ['two-controller listed', 'two-controller fresh']);
  t.deepEqual([first, all], [true, false]);

  fill();
  await clock.drain();

  t.deepEqual(seen.splice(0), ['one-controller s']);
  t.true(all);
  await create(kinds.secrets, {metadata: {namespace: 'default', name: 'later'}});
  t.deepEqual(seen, ['one-controller later']);
  t.deepEqual(end, {});
});

test('controllers that wait begin in turns of the event loop of their own', async t => {
  const {lines, fields, start, fill, clock} = startFirst(t);
  await start();
  const begun = () => lines.flatMap((line, index) => (line === 'info controller starts' ? [fields[index]!['controller']] : []));
  t.deepEqual(begun(), ['two-controller']);

  fill();
  const perTurn: number[] = [];
  for (let before = 1; before < 3; before = begun().length) {
    await new Promise(resolve => setImmediate(resolve));
    if (begun().length > before) perTurn.push(begun().length - before);
  }

  t.deepEqual(perTurn, [1, 1]);
  await clock.drain();
});

test('a controller that was removed while it waited does not begin, one that is added does not wait', async t => {
  const {clock, manager, create, start, fill, seen} = startFirst(t);
  await create(kinds.secrets, {metadata: {namespace: 'default', name: 's'}});
  await start();

  t.true(await manager.remove('one-controller'));
  await manager.add(named('four-controller', {primary: kinds.endpoints}));
  fill();
  await clock.drain();

  t.deepEqual(seen, []);
  await manager.started;
});

test('a stop ends controllers that wait, which begin no more', async t => {
  const {clock, create, start, fill, stop, seen, end} = startFirst(t);
  await create(kinds.secrets, {metadata: {namespace: 'default', name: 's'}});
  await start();

  stop();
  fill();
  await clock.advance(second);

  t.is(end.ending, 'stopped');
  t.deepEqual(seen, []);
});
