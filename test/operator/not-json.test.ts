import test from 'ava';
import {noLog} from '#src/base/log.js';
import {Deployment} from '#src/operator/kinds.js';
import {createManager, defineController, selection} from '#src/operator/index.js';
import {aPlane} from '#test/controllers/plane.js';

const labels = {app: 'a'};
const spec = {selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'a', image: 'a'}]}}};

/** The messages of the errors of a controller that writes a status, and the stored ones, after ten minutes. */
const written = async (statusOf: (count: number) => unknown) => {
  const plane = await aPlane({naming: 'kubernetes', controllers: []});
  const {clock} = plane;
  const client = plane.client();
  const errors: string[] = [];
  let reconciles = 0;
  const controller = defineController<Deployment>({
    name: 'tested',
    for: selection(Deployment, {namespace: 'default'}),
    async reconcile({object, client: own}) {
      if (!object) return;
      reconciles++;
      await own
        .status(object, () => statusOf(reconciles) as object)
        .catch((error: Error) => {
          errors.push(error.message);
          throw error;
        });
    },
  });
  const stop = new AbortController();
  const manager = createManager({controllers: [controller], client, clock, log: noLog, freeze: true});
  const run = manager.run(stop.signal);
  await manager.ready;
  await client.resource(Deployment).create({metadata: {name: 'a', namespace: 'default'}, spec});
  await clock.drain();
  await clock.advance(600_000);
  const {status} = await client.resource(Deployment).get('a', {namespace: 'default'});
  stop.abort();
  await run;
  await plane.stop();
  return {errors: [...new Set(errors)], status, reconciles};
};

test('a status with a value that JSON does not have is refused in words, and tried again later and later', async t => {
  const {errors, reconciles} = await written(() => ({replicas: Number.NaN}));

  t.deepEqual(errors, ['status.replicas: NaN is not valid JSON']);
  t.true(reconciles > 1 && reconciles < 40, `${reconciles} reconciles`);
});

test('a date in a status is its text, and written once', async t => {
  const lastUpdateTime = new Date(0);
  const {errors, status, reconciles} = await written(() => ({conditions: [{type: 'Available', status: 'True', lastUpdateTime}]}));

  t.deepEqual(errors, []);
  t.is(status?.conditions?.[0]?.lastUpdateTime, '1970-01-01T00:00:00Z');
  t.true(reconciles < 4, `${reconciles} reconciles`);
});
