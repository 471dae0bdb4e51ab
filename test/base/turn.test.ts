import test from 'ava';
import {runSteps, shareSteps, type Steps} from '#src/base/steps.js';
import {FairYielder, yieldToEventLoop, yieldInTurn} from '#src/base/turn.js';

test.serial('tasks that wait for a turn are resumed one by one, and those of several flows alternate', async t => {
  const resumed: string[] = [];
  const wait = async (flow: string, name: string): Promise<void> => {
    await yieldInTurn(flow);
    resumed.push(name);
  };
  const tasks = [wait('many', 'a'), wait('many', 'b'), wait('many', 'c'), wait('few', 'x'), wait('', 'own'), wait('few', 'y')];

  await yieldToEventLoop();
  const first = [...resumed];
  await Promise.all(tasks);

  // Work of the process that waited before them may have had the first turn.
  t.deepEqual(first, ['a'].slice(0, first.length));
  t.deepEqual(resumed, ['a', 'x', 'own', 'b', 'y', 'c']);
});

test.serial('a flow that waits again takes its place behind the others', async t => {
  const resumed: string[] = [];
  const work = async (flow: string, pieces: number): Promise<void> => {
    for (let piece = 0; piece < pieces; piece++) {
      await yieldInTurn(flow);
      resumed.push(flow);
    }
  };

  await Promise.all([work('many', 2), work('many', 2), work('few', 2)]);

  t.deepEqual(resumed, ['many', 'few', 'many', 'few', 'many', 'many']);
});

test.serial(
  'requests that have worked for a millisecond in one turn continue in turns of their own, those of several flows alternately',
  async t => {
    let now = 0;
    const clock = {monotonic: () => now};
    const done: string[] = [];
    const request = async (flow: string): Promise<void> => {
      const turn = new FairYielder(clock).pause(flow);
      if (turn) await turn;
      done.push(flow);
      now += 0.6; // The time that the piece takes.
    };

    const requests = [request('many'), request('many'), request('many'), request('many'), request('few')];
    const atOnce = [...done];
    await Promise.all(requests);

    t.deepEqual(atOnce, ['many', 'many']);
    t.deepEqual(done, ['many', 'many', 'many', 'few', 'many']);
  },
);

const requestOf =
  (done: string[]) =>
  async (flow: string, name: string, pieces: number): Promise<void> => {
    const turns = new FairYielder({monotonic: () => 0});
    for (let piece = 0; piece < pieces; piece++) await turns.next(flow);
    done.push(name);
  };

test.serial('of the long requests of one flow the one that began first ends first', async t => {
  const done: string[] = [];
  const request = requestOf(done);

  await Promise.all([request('many', 'a', 30), request('many', 'b', 30), request('few', 'x', 30), request('many', 'c', 30)]);

  t.deepEqual(done, ['x', 'a', 'b', 'c']);
});

test.serial('a short request does not wait for the long ones of its flow that began before it, nor they for many short ones', async t => {
  const done: string[] = [];
  const request = requestOf(done);

  await Promise.all([
    request('one', 'long', 12),
    request('one', 'longer', 100),
    request('one', 'short', 2),
    ...Array.from({length: 20}, (_, index) => request('one', `short ${index}`, 1)),
  ]);

  t.true(done.indexOf('short') < done.indexOf('long'));
  t.true(done.indexOf('long') < done.indexOf('short 19'));
  t.is(done.at(-1), 'longer');
});

test('work that several callers share is done once, whoever does the next step', t => {
  let done = 0;
  const shared = shareSteps(
    (function* (): Steps<string> {
      for (; done < 6; done++) yield;
      return 'made';
    })(),
  );
  const [one, other] = [shared(), shared()];

  for (let turn = 0; turn < 3; turn++) t.false(one.next().done || other.next().done);
  t.deepEqual(one.next(), {done: true, value: 'made'});
  t.deepEqual(other.next(), {done: true, value: 'made'});
  t.is(runSteps(shared()), 'made');

  const failing = shareSteps(
    (function* (): Steps<string> {
      yield;
      throw new Error('broken');
    })(),
  );
  for (const caller of [failing(), failing()]) t.throws(() => runSteps(caller), {message: 'broken'});
});
