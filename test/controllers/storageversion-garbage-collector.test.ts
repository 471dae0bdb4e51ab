import {hostname} from 'node:os';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import {storedResources} from '#src/apiserver/registry/stored-versions.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import {startWire, wire} from '#test/apiserver/wire.js';
import {aPlane} from './plane.js';

const startWith = async (controllers: readonly string[] = []) => {
  const gates = '--feature-gates=StorageVersionAPI=true,APIServerIdentity=true';
  const plane = await aPlane({
    controllers,
    apiserverArgs: [gates, '--runtime-config=internal.apiserver.plat.io/v1alpha1=true'],
    controllerManagerArgs: [gates],
  });
  return {
    plane,
    ...wire(plane.api.handler),
    versions: plane.client().resource(kinds.storageVersions),
    leases: plane.client().resource(kinds.leases),
    [Symbol.asyncDispose]: () => plane.stop(),
  };
};
const identity = serverIdentity(hostname());

test('a server publishes the storage versions of its resources, each once', async t => {
  await using env = await startWith();
  const {items} = await env.versions.list();
  const reported = new Map(items.map(({metadata, status}) => [metadata?.name, status]));
  const of = (name: string) => reported.get(name)?.storageVersions;
  t.deepEqual(of('core.pods'), [{apiServerID: identity, encodingVersion: 'v1', decodableVersions: ['v1'], servedVersions: ['v1']}]);
  t.deepEqual(of('core.events'), [
    {apiServerID: identity, encodingVersion: 'v1', decodableVersions: ['v1', 'events.plat.io/v1'], servedVersions: ['v1']},
  ]);
  t.false(reported.has('events.plat.io.events'));
  t.deepEqual(of('autoscaling.horizontalpodautoscalers')?.[0]?.encodingVersion, 'autoscaling/v2');
  t.deepEqual(of('autoscaling.horizontalpodautoscalers')?.[0]?.servedVersions, ['autoscaling/v2', 'autoscaling/v1']);
  t.false(reported.has('authorization.plat.io.subjectaccessreviews'));
  const {commonEncodingVersion, conditions} = reported.get('core.pods')!;
  t.is(commonEncodingVersion, 'v1');
  t.like(conditions?.[0], {
    type: 'AllEncodingVersionsEqual',
    status: 'True',
    reason: 'CommonEncodingVersionSet',
    message: 'Common encoding version set',
  });
});

test('overwritten storage versions are restored, beside those of other servers', async t => {
  await using env = await startWith();
  const {versions, plane} = env;
  const other = {apiServerID: 'other', encodingVersion: 'v2', decodableVersions: ['v1', 'v2'], servedVersions: ['v1']};
  await versions.update(
    {...(await versions.get('core.pods')), status: {storageVersions: [other], commonEncodingVersion: 'v2'}},
    {subresource: 'status'},
  );
  await versions.delete('core.nodes');
  await plane.clock.advance(600_000);

  const after = (await versions.get('core.pods')).status!;
  t.deepEqual(
    after.storageVersions?.map(({apiServerID}) => apiServerID),
    ['other', identity],
  );
  t.is(after.commonEncodingVersion, undefined);
  t.like(after.conditions?.[0], {status: 'False', reason: 'CommonEncodingVersionUnset'});
  t.is((await versions.get('core.nodes')).status?.commonEncodingVersion, 'v1');
});

test('servers whose leases have gone, or never were, are taken out of storage versions', async t => {
  await using env = await startWith(['storageversion-garbage-collector-controller']);
  const {versions, leases, plane} = env;
  const {naming, clock} = plane;
  const entry = (apiServerID: string, encodingVersion: string) => ({
    apiServerID,
    encodingVersion,
    decodableVersions: ['v1', 'v2'],
    servedVersions: [],
  });
  await leases.create({
    metadata: {
      name: 'second',
      namespace: naming.systemNamespace,
      labels: {[naming.subKey('apiserver', 'identity')]: naming.component('apiserver')},
    },
    spec: {},
  });
  const pods = await versions.get('core.pods');
  await versions.update(
    {...pods, status: {storageVersions: [...pods.status!.storageVersions!, entry('second', 'v2'), entry('nobody', 'v2')]}},
    {subresource: 'status'},
  );
  const made = await versions.create({metadata: {name: 'example.com.gone'}, spec: {}, status: {}});
  await versions.update(
    {...made, status: {storageVersions: [entry('nobody', 'v1')], commonEncodingVersion: 'v1'}},
    {subresource: 'status'},
  );
  await clock.drain();
  const ids = async () => (await versions.get('core.pods')).status!.storageVersions!.map(({apiServerID}) => apiServerID);
  t.deepEqual(await ids(), [identity, 'second']);
  t.is((await versions.get('core.pods')).status!.commonEncodingVersion, undefined);
  t.is((await env.get('/apis/internal.apiserver.plat.io/v1alpha1/storageversions/example.com.gone')).status, 404);

  await leases.delete('second', {namespace: naming.systemNamespace});
  await clock.drain();
  t.deepEqual(await ids(), [identity]);
  t.like((await versions.get('core.pods')).status, {commonEncodingVersion: 'v1'});
});

test('writes wait until the storage version of their resource is published, except writes that publishing needs', async t => {
  const {server, get, post, remove} = await startWire({gate: gate => gate === 'StorageVersionAPI' || gate === 'APIServerIdentity'});
  const resources = storedResources(server.registry);
  server.storedVersions.expect(resources);
  const system: UserInfo = {name: 'system:apiserver', groups: ['system:masters', 'system:authenticated']};
  const maps = '/api/v1/namespaces/default/configmaps';
  const make = async (path: string, name: string, sent?: {user: UserInfo}) => (await post(path, {metadata: {name}}, sent)).status;

  const held = await post(maps, {metadata: {name: 'a'}});
  t.like(held.json(), {
    code: 503,
    reason: 'ServiceUnavailable',
    message: 'wait for storage version registration to complete for resource: configmaps, last seen error: <nil>',
  });
  t.is((await remove(`${maps}/a`)).status, 503);
  t.is((await get(maps)).status, 200);
  t.is(await make('/api/v1/namespaces', 'a'), 503);
  t.is(await make('/api/v1/namespaces', 'plat-system', {user: system}), 201);
  t.is(await make('/apis/coordination.plat.io/v1/namespaces/default/leases', 'a'), 503);
  t.is(await make('/apis/coordination.plat.io/v1/namespaces/plat-system/leases', 'a'), 201);
  t.is(await make('/apis/internal.apiserver.plat.io/v1alpha1/storageversions', 'core.pods'), 201);
  t.is(
    (await post('/apis/authorization.plat.io/v1/selfsubjectaccessreviews', {spec: {nonResourceAttributes: {path: '/', verb: 'get'}}}))
      .status,
    201,
    'what is stored nowhere',
  );

  const events = resources.find(({resource}) => resource === 'events')!;
  server.storedVersions.updated(events, new Error('no room'));
  t.regex(
    (await post('/apis/events.plat.io/v1/namespaces/default/events', {metadata: {name: 'a'}})).text,
    /for resource: events\.events\.plat\.io, last seen error: no room"/,
  );
  for (const resource of resources) server.storedVersions.updated(resource);
  t.is(await make(maps, 'a'), 201);
});
