import assert from 'node:assert/strict';
import test, {type TestContext} from 'node:test';
import {startPlane, VirtualClock} from '@platio/plat';
import {createManager, webhookConfigurations} from '@platio/plat/operator';
import {Job} from '@platio/plat/operator/kinds';
import {CronJob, cronJobs, webhooks} from './operator.js';
import {parseSchedule} from './schedule.js';

const minute = 60_000;
// Those that the test needs: others would only take time.
const controllers = ['job', 'garbage-collector', 'serviceaccount', 'root-ca-certificate-publisher', 'node-lifecycle'];
const controllerManagerArgs = [`--controllers=${controllers.map(name => `${name}-controller`).join(',')}`];
const jobTemplate = {spec: {template: {spec: {restartPolicy: 'Never', containers: [{name: 'main', image: 'main'}]}}}};

const aWorld = async (t: TestContext) => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, nodes: 1, clock, manifests: ['examples/cronjobs/cronjobs.yaml'], controllerManagerArgs});
  const client = plane.client();
  const entries = new Map<string, string>();
  const calendar = {
    announce: async (entry: string, at: Date) => void entries.set(entry, at.toISOString()),
    withdraw: async (entry: string) => void entries.delete(entry),
  };
  const stop = new AbortController();
  const manager = createManager({
    name: 'cronjobs',
    controllers: [cronJobs(calendar)],
    client,
    clock,
    webhooks: {
      handlers: webhooks,
      certificate: {secret: 'cronjobs-webhook-cert', namespace: 'default'},
      configurations: ['cronjobs'],
      bindAddress: '127.0.0.1',
      port: 0,
    },
  });
  const run = manager.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await clock.drain();
    await run;
    await plane.stop();
  });
  await manager.ready;
  await plane.apply(webhookConfigurations({name: 'cronjobs', handlers: webhooks, url: `https://127.0.0.1:${await manager.webhookPort}`}));
  await clock.drain();
  const create = (name: string, spec: Partial<CronJob['spec']>) =>
    client.resource(CronJob).create({metadata: {name, namespace: 'default'}, spec: {schedule: '*/5 * * * *', jobTemplate, ...spec}});
  const jobs = async () => (await client.resource(Job).list({namespace: 'default'})).items;
  return {clock, client, create, jobs, entries};
};

test('jobs run on schedule, old ones go, the calendar knows the next, and all of it goes with the cron job', async t => {
  const {clock, client, create, jobs, entries} = await aWorld(t);
  const made = await create('often', {successfulJobsHistoryLimit: 1});
  assert.equal(made.spec.concurrencyPolicy, 'Allow');
  await clock.advance(11 * minute);
  assert.deepEqual(
    (await jobs()).map(({status}) => status?.succeeded),
    [1],
  );
  assert.equal(entries.get('default/often'), '2026-01-01T00:15:00.000Z');
  const {status} = await client.resource(CronJob).get('often', {namespace: 'default'});
  assert.equal(status?.lastScheduleTime, '2026-01-01T00:10:00.000Z');

  await client.resource(CronJob).delete('often', {namespace: 'default'});
  await clock.advance(minute);
  assert.deepEqual([await jobs(), [...entries]], [[], []]);
});

test('a cron job that is suspended starts nothing', async t => {
  const {clock, create, jobs, entries} = await aWorld(t);
  await create('paused', {suspend: true});
  await clock.advance(11 * minute);
  assert.deepEqual([await jobs(), [...entries]], [[], []]);
});

test('a schedule that is none is refused with the field that is wrong', async t => {
  const {create} = await aWorld(t);
  await assert.rejects(
    create('wrong', {schedule: '61 * * * *'}),
    /spec\.schedule: Invalid value: "61 \* \* \* \*": "61" is no minute from 0 to 59/,
  );
  await assert.rejects(create('wrong', {schedule: '* * *'}), /it has 3 fields, not 5/);
});

test('schedules have the times of cron', () => {
  const next = (text: string, from: string) => new Date(parseSchedule(text).next(Date.parse(from)) ?? 0).toISOString();
  assert.equal(next('30 2 * * *', '2026-01-01T02:30:00Z'), '2026-01-02T02:30:00.000Z');
  assert.equal(next('0 0 29 2 *', '2026-01-01T00:00:00Z'), '2028-02-29T00:00:00.000Z');
  assert.equal(next('0 0 13 * 5', '2026-01-01T00:00:00Z'), '2026-01-02T00:00:00.000Z');
  assert.equal(next('0-10/5 9-17 * 1,6 *', '2026-01-01T17:10:00Z'), '2026-01-02T09:00:00.000Z');
  assert.equal(parseSchedule('0 0 31 2 *').next(0), undefined);
});
