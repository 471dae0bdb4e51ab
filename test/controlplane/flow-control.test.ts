import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {serviceUnavailable} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {maintainFlowControl, reconcileFlowControl} from '#src/controlplane/flow-control.js';
import {reportDanglingSchemas} from '#src/controlplane/flow-schema-status.js';
import {suggestedObjects} from '#src/resources/flowcontrol/bootstrap.js';
import {startServer, type ServerOptions} from '#test/fixtures/server.js';

const key = 'apf.plat.io/autoupdate-spec';

const start = async (options: ServerOptions = {}) => {
  const env = startServer(options);
  const client = env.clientOf();
  await reconcileFlowControl(client);
  const [levels, schemas] = [client.resource(kinds.priorityLevelConfigurations), client.resource(kinds.flowSchemas)];
  const all = async (): Promise<KubeObject[]> => [...(await levels.list()).items, ...(await schemas.list()).items];
  const settle = () => reconcileFlowControl(client);
  return {...env, client, levels, schemas, all, settle};
};

const saysWhoKeeps = ({metadata}: KubeObject): string | undefined => metadata?.annotations?.[key];

test('flow control begins with suggested and mandatory objects, managed by the server', async t => {
  const {all} = await start();
  const objects = await all();

  t.is(objects.length, 8 + 11);
  t.true(objects.every(object => saysWhoKeeps(object) === 'true'));
  t.deepEqual(
    [...new Set(objects.flatMap(({metadata}) => metadata?.managedFields?.map(({manager}) => manager)))],
    ['api-priority-and-fairness-config-producer-v1'],
  );
});

test('components elect their leaders by leases alone', async t => {
  const {schemas} = suggestedObjects(naming('kubernetes'));
  const election = schemas.find(({metadata}) => metadata?.name === 'system-leader-election');

  t.deepEqual(
    election?.spec?.rules?.flatMap(({resourceRules = []}) => resourceRules.flatMap(({resources}) => resources)),
    ['leases'],
  );
  t.false(schemas.some(({metadata}) => ['workload-leader-election', 'endpoint-controller'].includes(metadata?.name ?? '')));
});

test('a pass over objects that are as they should be writes nothing', async t => {
  const {settle, store} = await start();
  const before = await store.revision();
  await settle();

  t.is(await store.revision(), before);
});

test('deleted objects are created again, suggested or mandatory', async t => {
  const {settle, levels, schemas} = await start();
  await schemas.delete('exempt');
  await schemas.delete('probes');
  await levels.delete('catch-all');
  await levels.delete('system');
  await settle();

  for (const name of ['exempt', 'probes']) t.is((await schemas.get(name)).metadata?.name, name);
  for (const name of ['catch-all', 'system']) t.is((await levels.get(name)).metadata?.name, name);
});

test('mandatory objects are restored, whatever their annotation', async t => {
  const {settle, schemas} = await start();
  const found = await schemas.get('catch-all');
  await schemas.patch('catch-all', 'merge', {metadata: {annotations: {[key]: 'false'}}});
  await settle();

  t.is(saysWhoKeeps(await schemas.get('catch-all')), 'true');
  t.deepEqual((await schemas.get('catch-all')).spec, found.spec);
});

test("seats and lending of the exempt level are the administrator's to set", async t => {
  const {settle, levels} = await start();
  await levels.patch('exempt', 'merge', {spec: {exempt: {nominalConcurrencyShares: 9, lendablePercent: 20}}});
  await settle();

  t.deepEqual((await levels.get('exempt')).spec?.exempt, {nominalConcurrencyShares: 9, lendablePercent: 20});
});

for (const [what, annotation, change, annotationAfter, sharesAfter] of [
  ['with automatic updates follows the server', 'true', true, 'true', 30],
  ['with automatic updates in another spelling follows the server', 'T', true, 'T', 30],
  ['without automatic updates is left alone', 'false', true, 'false', 99],
  ['without the annotation and with changes belongs to its users', null, true, 'false', 99],
  ['with an invalid annotation and changes belongs to its users', 'maybe', true, 'false', 99],
  ['without the annotation and without changes belongs to the server', null, false, 'true', 30],
] as const) {
  test(`a suggested level ${what}`, async t => {
    const {settle, levels} = await start();
    await levels.patch('system', 'merge', {
      metadata: {annotations: {[key]: annotation}},
      ...(change ? {spec: {limited: {nominalConcurrencyShares: 99}}} : {}),
    });
    await settle();
    const {spec, ...object} = await levels.get('system');

    t.is(saysWhoKeeps(object), annotationAfter);
    t.is(spec?.limited?.nominalConcurrencyShares, sharesAfter);
  });
}

test('objects that are no longer suggested are deleted, objects of users stay', async t => {
  const {settle, schemas, levels} = await start();
  const {spec} = await schemas.get('probes');
  const {spec: levelSpec} = await levels.get('system');
  const annotated = (name: string, value?: string) => ({metadata: {name, ...(value === undefined ? {} : {annotations: {[key]: value}})}});
  for (const [name, value] of [
    ['forgotten', 'true'],
    ['own', 'false'],
    ['odd', 'maybe'],
    ['plain', undefined],
  ] as const) {
    await schemas.create({...annotated(name, value), spec: spec!});
    await levels.create({...annotated(name, value), spec: levelSpec!});
  }
  await settle();
  const names = async (of: typeof schemas | typeof levels) =>
    (await of.list()).items.map(({metadata}) => metadata!.name!).filter(name => ['forgotten', 'own', 'odd', 'plain'].includes(name));

  t.deepEqual(await names(schemas), ['odd', 'own', 'plain']);
  t.deepEqual(await names(levels), ['odd', 'own', 'plain']);
});

test('a server looks after the objects every minute until it stops', async t => {
  const {client, clock, schemas} = await start();
  const stop = new AbortController();
  await maintainFlowControl({client, clock, log: noLog}, stop.signal);
  await schemas.delete('exempt');
  await clock.advance(60_000);
  t.is((await schemas.get('exempt')).metadata?.name, 'exempt');

  stop.abort();
  await schemas.delete('exempt');
  await clock.advance(120_000);
  t.false((await schemas.list()).items.some(({metadata}) => metadata?.name === 'exempt'));
  t.is(clock.pending, 0);
});

test('the status of each schema shows whether its level exists, as levels come and go', async t => {
  const {client, clock, schemas, levels} = await start();
  await reconcileFlowControl(client);
  const stop = new AbortController();
  reportDanglingSchemas({client, clock, random: seededRandom(1), log: noLog, watchSeconds: 86_400}, stop.signal);
  const reported = async (name: string) =>
    (await schemas.get(name)).status?.conditions?.map(({type, status, reason, message}) => [type, status, reason, message].join(' '));
  await schemas.create({metadata: {name: 'own'}, spec: {priorityLevelConfiguration: {name: 'mine'}, matchingPrecedence: 500}});
  await clock.advance(1_000);
  t.deepEqual(await reported('own'), [
    'Dangling True NotFound This FlowSchema references the PriorityLevelConfiguration object named "mine" but there is no such object',
  ]);
  t.deepEqual(await reported('exempt'), [
    'Dangling False Found This FlowSchema references the PriorityLevelConfiguration object named "exempt" and it exists',
  ]);

  await levels.create({
    metadata: {name: 'mine'},
    spec: {type: 'Limited', limited: {nominalConcurrencyShares: 1, limitResponse: {type: 'Reject'}}},
  });
  await clock.advance(1_000);
  t.regex((await reported('own'))?.[0] ?? '', /^Dangling False Found/);
  await levels.delete('mine');
  await clock.advance(1_000);
  t.regex((await reported('own'))?.[0] ?? '', /^Dangling True NotFound/);
  stop.abort();
});

/** A server that takes no schemas for so long. */
const moody = (untilMs: number) => {
  const clock = new VirtualClock();
  const validate = ({resource}: AdmissionAttributes): void => {
    if (clock.monotonic() < untilMs && resource === 'flowschemas') throw serviceUnavailable('not now');
  };
  const env = startServer({clock, admission: () => [{name: 'Moody', validate}]});
  const stop = new AbortController();
  return {...env, stop, kept: maintainFlowControl({client: env.clientOf(), clock, log: noLog}, stop.signal)};
};

test('a first pass that fails is tried again every second', async t => {
  const {clock, clientOf, stop, kept} = moody(10_000);
  await clock.advance(11_000);
  await kept;
  stop.abort();

  t.is((await clientOf().resource(kinds.flowSchemas).list()).items.length, 11);
});

test('a server whose first passes fail for five minutes does not go on', async t => {
  const {clock, kept} = moody(Infinity);
  const refused = t.throwsAsync(kept, {message: 'not now'});
  await clock.advance(301_000);

  await refused;
  t.is(clock.pending, 0);
});
