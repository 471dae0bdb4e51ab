import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {naming} from '#src/api/naming.js';
import {forbidden} from '#src/api/status.js';
import {noLog} from '#src/base/log.js';
import {parseRights, rightsManifest, rightsOfRoles} from '#src/codegen/rights/roles.js';
import {converting, createManager, customKind, defineController, selection, setCondition, type Client} from '#src/operator/index.js';
import {ConfigMap, Deployment, Lease, Secret} from '#src/operator/kinds.js';
import {manifestsOfText} from '#src/plane/manifests/read.js';
import {startPlane} from '#src/plane/plane.js';
import {recordRights, restricted} from '#src/testing/index.js';

/** A config map for each deployment, and its status. */
const controller = defineController({
  name: 'copies',
  for: Deployment,
  owns: [ConfigMap],
  reads: [selection(Secret, {namespace: 'keys', fieldSelector: 'metadata.name=key'})],
  async reconcile({object, client}) {
    if (!object) return;
    await client.apply(ConfigMap, {metadata: {name: object.metadata.name, namespace: object.metadata.namespace}, data: {a: 'b'}});
    await client.status(object, setCondition('Copied', 'True', 'Copied'));
  },
});

const deployment = {
  metadata: {name: 'a', namespace: 'default'},
  spec: {
    replicas: 0,
    selector: {matchLabels: {a: 'b'}},
    template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'a', image: 'a'}]}},
  },
};

const aPlane = async (t: ExecutionContext) => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, clock, controllerManagerArgs: ['--controllers=namespace-controller']});
  t.teardown(() => plane.stop());
  return {clock, plane};
};

/** Runs the controller with a client until it has nothing more to do. */
const run = async ({clock, plane}: Awaited<ReturnType<typeof aPlane>>, client: Client, controllers = [controller]) => {
  const stop = new AbortController();
  const manager = createManager({name: 'copies', controllers, client, clock, log: noLog});
  const ended = manager.run(stop.signal);
  await manager.ready;
  await plane.client().create(Deployment, deployment);
  await clock.drain();
  stop.abort();
  await ended;
};

const manifest = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: copies
  namespace: copies
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: copies
rules:
  - {apiGroups: [''], resources: [configmaps], verbs: [get, list, watch, create, patch]}
  - {apiGroups: [''], resources: [events], verbs: [create, patch]}
  - {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch]}
  - {apiGroups: [apps], resources: [deployments/finalizers], verbs: [update]}
  - {apiGroups: [apps], resources: [deployments/status], verbs: [patch]}
  - {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
  - {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: copies
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: copies}
subjects:
  - {kind: ServiceAccount, name: copies, namespace: copies}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: copies
  namespace: copies
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [copies], verbs: [get, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: copies
  namespace: copies
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: copies}
subjects:
  - {kind: ServiceAccount, name: copies, namespace: copies}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: copies
  namespace: keys
rules:
  - {apiGroups: [''], resources: [secrets], resourceNames: [key], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: copies
  namespace: keys
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: copies}
subjects:
  - {kind: ServiceAccount, name: copies, namespace: copies}
`;

test('the roles of an operator follow from its declarations and what it does in its tests', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'rights-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const file = join(folder, 'rights.json');
  const rights = recordRights({name: 'copies', controllers: [controller], leaderElection: true, metrics: true});
  const planes = await aPlane(t);

  await run(planes, rights.client(planes.plane));
  rights.write(file);

  const options = {name: 'copies', namespace: 'copies', naming: naming('kubernetes')};
  t.is(rightsManifest(parseRights(readFileSync(file, 'utf8'), file), options), manifest);
  const roles = manifestsOfText(manifest, 'rights.yaml').map(({object}) => object);
  t.is(rightsManifest(rightsOfRoles(roles), options), manifest);
});

const write = (text: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'rights-')), 'rights.yaml');
  return (writeFileSync(file, text), file);
};

test('an operator runs under exactly the rights of its manifests', async t => {
  const planes = await aPlane(t);
  const {client, missing} = await restricted(planes.plane, write(manifest));

  await run(planes, client);

  t.is(missing(), '');
  t.deepEqual((await planes.plane.client().get(ConfigMap, {name: 'a', namespace: 'default'}))?.data, {a: 'b'});
  await t.throwsAsync(client.resource(ConfigMap).delete('a', {namespace: 'default'}), {
    message:
      /cannot delete resource "configmaps".*\ncopies needs:\n {2}- \{apiGroups: \[''\], resources: \[configmaps\], verbs: \[delete\]\}$/,
  });
});

test('manifests without namespaces are applied in the one that is given', async t => {
  const {plane} = await aPlane(t);
  const own = manifest.slice(0, manifest.lastIndexOf('---', manifest.indexOf('namespace: keys'))).replace(/^ {2}namespace: .*\n/gm, '');
  const {client} = await restricted(plane, write(own), {namespace: 'copies'});
  const lease = (name: string) => client.resource(Lease).get(name, {namespace: 'copies'});

  await t.throwsAsync(lease('copies'), {message: /not found/});
  await t.throwsAsync(lease('other'), {message: /cannot get resource "leases"/});
});

test('what an operator lacks is named with the lines to add', async t => {
  const planes = await aPlane(t);
  const lacking = manifest.replace('[get, list, watch, create, patch]', '[get, list, watch]').replace(/^.*deployments\/status.*\n/m, '');
  const {client, missing} = await restricted(planes.plane, write(lacking));

  await run(planes, client);
  t.is(missing(), "copies needs:\n  - {apiGroups: [''], resources: [configmaps], verbs: [create, patch]}");

  const object = (await planes.plane.client().get(Deployment, {name: 'a', namespace: 'default'}))!;
  await t.throwsAsync(client.status(object, setCondition('Copied', 'True', 'Copied')), {
    message: /\n {2}- \{apiGroups: \[apps\], resources: \[deployments\/status\], verbs: \[patch\]\}$/,
  });
});

test('a refusal for another reason than rights is left as it is', async t => {
  const {plane} = await aPlane(t);
  const {client, missing} = await restricted(plane, write(manifest));
  plane.intercept(({resource, verb}) =>
    resource === 'configmaps' && verb === 'create'
      ? {kind: 'refuse', error: forbidden({group: '', resource}, 'a', 'exceeded quota')}
      : undefined,
  );

  await t.throwsAsync(client.create(ConfigMap, {metadata: {name: 'a', namespace: 'default'}}), {message: /exceeded quota$/});
  t.is(missing(), '');
  await t.throwsAsync(restricted(plane, []), {message: 'the manifests must have one ServiceAccount'});
});

test('the program of an operator needs its Secret and the objects whose CA it keeps, and nothing else of their kind', t => {
  const kind = customKind({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});
  const handlers = [converting(kind, {hub: 'v1', versions: {}})];
  const folder = mkdtempSync(join(tmpdir(), 'rights-'));
  t.teardown(() => rmSync(folder, {recursive: true}));
  const file = join(folder, 'rights.json');

  recordRights({name: 'backups', namespace: 'system', webhooks: {handlers, configurations: ['backups']}}).write(file);

  const text = rightsManifest(parseRights(readFileSync(file, 'utf8'), file), {
    name: 'backups',
    namespace: 'system',
    naming: naming('kubernetes'),
  });
  t.deepEqual(text.match(/^ {2}- \{api.*$/gm), [
    "  - {apiGroups: [''], resources: [events], verbs: [create, patch]}",
    '  - {apiGroups: [admissionregistration.k8s.io], resources: [mutatingwebhookconfigurations], resourceNames: [backups], verbs: [get, list, watch, patch]}',
    '  - {apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], resourceNames: [backups], verbs: [get, list, watch, patch]}',
    '  - {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], resourceNames: [backups.example.com], verbs: [get, list, watch, patch]}',
    "  - {apiGroups: [''], resources: [secrets], verbs: [create]}",
    "  - {apiGroups: [''], resources: [secrets], resourceNames: [backups-webhook-cert], verbs: [get, update]}",
  ]);
  t.throws(() => parseRights('{"rights": [{"group": 1}]}', 'a.json'), {message: 'a.json: it is no recording of rights'});
});
